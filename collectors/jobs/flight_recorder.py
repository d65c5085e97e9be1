"""The dumps of PyTorch's flight recorder: where each rank stood when its watchdog gave up."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.ranks import LocalRanks, Rank, job_of
from collectors.node.protocol import Node

# Dumps are looked for once something stands still; a walk has no more ranks than this.
MOST_RANKS = 64
DEADLINE_S = 5.0

# nccl_trace_rank_11, trace_0.json, _dump_12: the rank is what the name ends with.
RANK = re.compile(r"(\d{1,7})(?:\.(?:json|pkl|pickle))?\Z")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One collective that a rank called; `pending` where the recorder has not seen its end."""

    sequence: int
    op: str
    sizes: str = ""
    created_ns: int | None = None
    pending: bool = False


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One process group as one rank sees it.

    `pending` is the first collective that has not ended, `last` the last one that the rank
    called; `ends_known` is False for a backend that does not say when one ends. `p2p` tells that
    sends and receives went through it too. `calls` are some of the first pending and the newest.
    """

    name: str
    desc: str = ""
    ranks: tuple[int, ...] = ()
    pending: int | None = None
    last: int | None = None
    ends_known: bool = True
    p2p: bool = False
    calls: tuple[Call, ...] = ()


class Dump(msgspec.Struct, frozen=True, kw_only=True):
    """The dump of one rank; `source` is its file. `pid` and `gpus` are known of a rank of here."""

    rank: int
    source: str
    job: str | None = None
    pid: int | None = None
    gpus: tuple[int, ...] = ()
    groups: tuple[Group, ...] = ()


class FlightDumps(Observation, frozen=True, kw_only=True):
    """All dumps that were found, by rank; `unseen` could not be read, or were refused."""

    dumps: tuple[Dump, ...] = ()
    unseen: tuple[Missing, ...] = ()


def named_rank(name: str) -> int | None:
    """Return the rank that the name of a dump ends with."""
    hit = RANK.search(name)
    return int(hit[1]) if hit else None


def read(rank: int, source: str, answer: Any) -> Dump | Missing:  # noqa: ANN401 - JSON
    """Return the dump of one rank from the summary that the reader makes of its file."""
    try:
        groups = msgspec.convert(answer["groups"], tuple[Group, ...])
    except (msgspec.ValidationError, KeyError, TypeError) as problem:
        return Missing(what=source, cause=Cause.GARBLED, detail=str(problem)[:200])
    return Dump(rank=rank, source=source, groups=groups)


async def collect(node: Node, wanted: Wanted, ranks: LocalRanks | Missing) -> FlightDumps | Missing:
    """Look for the dump of each rank of this node, where its environment or PyTorch puts it."""
    del wanted
    if isinstance(ranks, Missing):
        return ranks
    numbered = [rank for rank in ranks.ranks if rank.rank is not None][:MOST_RANKS]
    if not numbered:
        return FlightDumps()
    answer = await node.ask("dumps", deadline_s=DEADLINE_S, pids=[rank.pid for rank in numbered])
    if isinstance(answer, Missing):
        return answer
    if not isinstance(answer, dict):
        return Missing(what="dumps", cause=Cause.GARBLED, detail="the answer is no table")
    return _found(numbered, answer)


def _found(ranks: Iterable[Rank], answer: dict[str, Any]) -> FlightDumps:
    dumps: list[Dump] = []
    unseen: list[Missing] = []
    for rank in ranks:
        said = answer.get(str(rank.pid))
        if not isinstance(said, dict) or rank.rank is None:
            continue
        source = str(said.get("path"))
        if said.get("refused"):
            why = str(said["refused"])[:300]
            unseen.append(Missing(what=source, cause=Cause.GARBLED, detail=why))
            continue
        one = read(rank.rank, source, said)
        if isinstance(one, Missing):
            unseen.append(one)
        else:
            whose = {"pid": rank.pid, "job": job_of(rank), "gpus": rank.gpus}
            dumps.append(msgspec.structs.replace(one, **whose))
    return FlightDumps(dumps=tuple(dumps), unseen=tuple(unseen))
