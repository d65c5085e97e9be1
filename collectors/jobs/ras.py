"""What NCCL's RAS service says of the communicators of a job: who is absent, who is behind."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.jobs.ranks import Rank, number
from collectors.node.protocol import Node

# NCCL, src/ras: NCCL_RAS_CLIENT_PORT.
HOST, PORT = "127.0.0.1", 28028
DEADLINE_S = 6.0
MOST_MEMBERS = 65_536
MOST_COMMUNICATORS = 1024

# [::1]:28028, 10.31.0.12:28030, localhost:28028
ADDRESS = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]{2,45})\]|(?P<four>[\w.-]{1,64})):(?P<port>\d{1,5})"
)


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One rank of a communicator, None where a report does not say it.

    `rank` counts in this communicator; `host` is an address, `pid` counts in the container of the
    process. `gpu` is its number for NVML. `dead` is a process that RAS reaches no more.
    """

    rank: int | None = None
    host: str | None = None
    pid: int | None = None
    gpu: int | None = None
    dead: bool = False


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """How many of an operation some ranks have launched; of many, only `number` may be known."""

    op: str
    launched: int
    number: int
    members: tuple[Member, ...] = ()


class Communicator(msgspec.Struct, frozen=True, kw_only=True):
    """One communicator; `counts` has the operations that were not launched equally often."""

    name: str
    size: int | None = None
    absent: tuple[Member, ...] = ()
    counts: tuple[Count, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one job's service at `address`, or why there is none."""

    job: str
    address: str
    communicators: tuple[Communicator, ...] = ()
    missing: Missing | None = None


class RasStatus(Observation, frozen=True, kw_only=True):
    """The reports of jobs that were asked; a job is asked only after something stood still."""

    reports: tuple[Report, ...] = ()


def address(environ: Mapping[str, str]) -> tuple[str, int] | None:
    """Return where a rank's service listens; None where it is off, or its address unreadable."""
    if environ.get("NCCL_RAS_ENABLE", "1") == "0":
        return None
    said = environ.get("NCCL_RAS_ADDR")
    if not said:
        return HOST, PORT
    hit = ADDRESS.fullmatch(said)
    return (hit["six"] or hit["four"], int(hit["port"])) if hit else None


async def ask(node: Node, job: str, ranks: Iterable[Rank]) -> Report | None:
    """Ask the service of one job; None where its lowest rank is not here, or uses no NCCL."""
    lowest = next((rank for rank in ranks if rank.rank == 0), None)
    uses = lowest is not None and (lowest.gpus or "NCCL_RAS_ADDR" in lowest.environ)
    place = address(lowest.environ) if lowest and uses else None
    if place is None:
        return None
    where = f"{place[0]}:{place[1]}"
    got = await node.ask("ras", deadline_s=DEADLINE_S, host=place[0], port=place[1])
    if isinstance(got, Missing):
        return Report(job=job, address=where, missing=got)
    read = parse(got)
    if isinstance(read, Missing):
        return Report(job=job, address=where, missing=read)
    return Report(job=job, address=where, communicators=read)


def parse(answer: Any) -> tuple[Communicator, ...] | Missing:  # noqa: ANN401 - JSON
    """Return the communicators of a report as the helper hands it on."""
    if not isinstance(answer, dict) or not isinstance(answer.get("text"), str):
        return Missing(what="ras", cause=Cause.GARBLED, detail="the answer holds no report")
    if answer.get("format") != "json":
        return tuple(in_text(answer["text"]))
    try:
        document = msgspec.json.decode(answer["text"], type=_Document)
    except (msgspec.MsgspecError, RecursionError) as problem:
        return Missing(what="ras", cause=Cause.GARBLED, detail=str(problem)[:200])
    return tuple(map(_communicator, document.communicators[:MOST_COMMUNICATORS]))


class _State(msgspec.Struct, frozen=True):
    unresponsive: bool = False
    considered_dead: bool = False


class _Rank(msgspec.Struct, frozen=True):
    rank: int
    host: str = ""
    pid: int = -1
    nvml_dev: int = -1
    collective_counts: dict[str, int] = {}
    status: _State = _State()


class _Comm(msgspec.Struct, frozen=True):
    hash: str = ""
    size: int | None = None
    ranks: list[_Rank] = []
    missing_ranks: list[_Rank] = []


class _Document(msgspec.Struct, frozen=True):
    communicators: list[_Comm] = []


def _communicator(said: _Comm) -> Communicator:
    ranks = said.ranks[:MOST_MEMBERS]
    absent = tuple(map(_member, said.missing_ranks[:MOST_MEMBERS]))
    ops = dict.fromkeys(op for rank in ranks for op in rank.collective_counts)
    counts = [count for op in list(ops)[:64] for count in _counts(op, ranks)]
    return Communicator(name=said.hash[:64], size=said.size, absent=absent, counts=tuple(counts))


def _member(said: _Rank) -> Member:
    return Member(
        rank=said.rank,
        host=said.host[:64] or None,
        pid=said.pid if said.pid > 0 else None,
        gpu=said.nvml_dev if said.nvml_dev >= 0 else None,
        dead=said.status.considered_dead,
    )


def _counts(op: str, ranks: Iterable[_Rank]) -> Iterator[Count]:
    by_count: dict[int, list[_Rank]] = {}
    for rank in ranks:
        by_count.setdefault(rank.collective_counts.get(op, 0), []).append(rank)
    if len(by_count) > 1:
        for launched in sorted(by_count):
            members = tuple(map(_member, by_count[launched]))
            yield Count(op=op[:64], launched=launched, number=len(members), members=members)


# #0-0 (5c81d9a0b27e4f13) MISMATCH
HEAD = re.compile(r"#\d+-\d+ \(([0-9a-f]{1,16})\) (INCOMPLETE|ERROR|MISMATCH)")
#   Communicator ranks have different AllReduce operation counts
OP = re.compile(r"  Communicator ranks have different (\w{1,32}) operation counts")
#   Communicator ranks have different status
STATUS = "  Communicator ranks have different status"
#   15 ranks have launched up to operation 8812
#   3 ranks have not launched any operations
MANY = re.compile(
    r"  (\d{1,9}) ranks have (?:launched up to operation (\d{1,18})|not launched any operations)"
)
#   Rank 7 has launched up to operation 8811 -- GPU 7 managed by process 5119 on node 10.31.0.12
#   Rank 7 has not launched any operations -- GPU 7 managed by process 5119 on node 10.31.0.12
ONE = re.compile(
    r"  Rank (\d{1,9}) has (?:launched up to operation (\d{1,18})|not launched any operations) -- "
)
#   Rank 3 -- GPU 3 (NVML 5) managed by process 41207 on node 10.31.0.12
#   Rank 3 has status NOCOMM -- [process information not found]
ANY = re.compile(r"  Rank (\d{1,9})(?: has status (\w+))? -- ")
PLACE = re.compile(
    r"GPU (\d{1,3})(?: \(NVML (\d{1,3})\))? managed by process (\d{1,10}) on node (\S{1,64})"
)


def in_text(text: str) -> Iterator[Communicator]:
    """Yield the communicators of a text report that are not well: others are not listed there."""
    found: dict[str, _Section] = {}
    now: _Section | None = None
    for line in text.splitlines():
        if head := HEAD.fullmatch(line):
            now = found.setdefault(head[1], _Section())
            now.begin(head[2])
        elif not line.startswith("  "):
            # A blank line ends one part of a section, a heading all of it.
            now = now if not line.strip() else None
        elif now is not None and len(found) <= MOST_COMMUNICATORS:
            now.take(line)
    for name, section in found.items():
        yield Communicator(
            name=f"0x{name}", absent=tuple(section.absent), counts=tuple(section.counted())
        )


class _Section:
    """What the lines below one communicator's headings say."""

    def __init__(self) -> None:
        self.absent: list[Member] = []
        self._counts: list[tuple[str, int, int, list[Member]]] = []
        self._kind = ""
        self._op: str | None = None
        self._launched: int | None = None

    def begin(self, kind: str) -> None:
        """Go on with another heading of this communicator."""
        self._kind, self._op, self._launched = kind, None, None

    def take(self, line: str) -> None:
        """Take one line."""
        if op := OP.match(line):
            self._op, self._launched = op[1], None
        elif line.startswith(STATUS):
            self._op = None
        elif self._op is not None and (many := MANY.match(line)):
            self._launched = int(many[2] or 0)
            self._add(self._launched, int(many[1]), None)
        elif self._op is not None and (one := ONE.match(line)):
            self._add(int(one[2] or 0), 1, _placed(int(one[1]), line))
        elif rank := ANY.match(line):
            self._listed(_placed(int(rank[1]), line), rank[2])

    def _listed(self, member: Member, status: str | None) -> None:
        """Take a rank that is listed below what was said of several."""
        if self._kind == "INCOMPLETE" or status == "NOCOMM":
            self.absent.append(member)
        elif self._op is not None and self._launched is not None:
            self._counts[-1][3].append(member)

    def _add(self, launched: int, count: int, member: Member | None) -> None:
        self._counts.append((self._op or "", launched, count, [member] if member else []))

    def counted(self) -> Iterator[Count]:
        """Yield what was said of each operation, the lowest count first."""
        for op, launched, count, members in sorted(self._counts, key=lambda one: one[:3]):
            yield Count(op=op, launched=launched, number=count, members=tuple(members))


def _placed(rank: int, line: str) -> Member:
    hit = PLACE.search(line)
    if hit is None:
        return Member(rank=rank)
    return Member(rank=rank, host=hit[4], pid=number(hit[3]), gpu=int(hit[2] or hit[1]))
