"""The kernel log of this boot, as /dev/kmsg gives it."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

TEXT_CAP = 8192

# 6,1042,5123456,-;nvidia 0000:4e:00.0: enabling device
# 4,1043,5123502,c,caller=T2214;a piece that follows on the record before
HEADER = re.compile(
    r"(?P<priority>\d{1,6}),(?P<sequence>\d{1,20}),(?P<us>\d{1,20}),(?P<flag>[^,;]?)[^;]*;"
)

# The kernel writes bytes outside printable ASCII, and the backslash, as \x5c.
ESCAPED = re.compile(r"(?:\\x(?:5c|[89a-f][0-9a-f]))+")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    r"""One record; `boot_s` is its time in seconds after boot, `level` 0 (gravest) to 7.

    `facility` 0 is the kernel itself; 1 and above was written through /dev/kmsg by a program.
    Control characters in `text` stay as the kernel shows them, `\x0a` for a line end: a process
    can put one into its own name, and must not gain a line of its own by it.
    """

    sequence: int
    boot_s: float
    level: int
    facility: int
    text: str


class KernelLog(Observation, frozen=True, kw_only=True):
    """The records still in the ring, oldest first; `lost` counts how often it overran the reader.

    `boot_time` is the wall clock at boot (epoch seconds), `uptime_s` the seconds from then until
    the log was read; None where they are not known.
    """

    records: tuple[Record, ...]
    lost: int = 0
    boot_time: float | None = None
    uptime_s: float | None = None

    def by_kernel(self, *, or_programs: bool = False) -> Iterator[Record]:
        """Yield the kernel's own records, and those of programs where they are asked for."""
        return (r for r in self.records if or_programs or r.facility == 0)

    def age_s(self, record: Record) -> float:
        """Return how long before the reading (or before the last record) *record* was written."""
        end = self.uptime_s
        if end is None:
            end = self.records[-1].boot_s if self.records else record.boot_s
        return max(end - record.boot_s, 0.0)

    def wall(self, record: Record) -> float | None:
        """Return the wall clock of *record*; it is off by the time spent suspended."""
        return None if self.boot_time is None else self.boot_time + record.boot_s


class Ring(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's answer: raw lines, and how often the ring overran it."""

    lines: tuple[str, ...]
    lost: int = 0


async def collect(node: Node, wanted: Wanted) -> KernelLog | Missing:
    """Ask the reader for the ring; the times of boot and now come from /proc."""
    del wanted
    got = await node.ask("kernel_log", deadline_s=5.0)
    if isinstance(got, Missing):
        verb = "kernel_log" if got.cause is Cause.DENIED else got.verb
        return msgspec.structs.replace(got, what="KernelLog", verb=verb)
    try:
        ring = msgspec.convert(got, Ring)
    except msgspec.ValidationError as problem:
        return Missing(what="KernelLog", cause=Cause.GARBLED, detail=str(problem))
    # A machine with many interrupts has over 64 KiB of them in /proc/stat before the line btime.
    seen = await node.files("/proc/stat", "/proc/uptime", cap=1 << 20)
    clock = {} if isinstance(seen, Missing) else seen.texts
    return KernelLog(
        records=tuple(parse(ring.lines)),
        lost=ring.lost,
        boot_time=_number(r"^btime (\d{1,12})$", clock.get("/proc/stat", "")),
        uptime_s=_number(r"^(\d{1,12}\.\d+) ", clock.get("/proc/uptime", "")),
    )


def _number(pattern: str, text: str) -> float | None:
    hit = re.search(pattern, text, re.MULTILINE)
    return float(hit[1]) if hit else None


def parse(raw: Iterable[str]) -> Iterator[Record]:
    """Yield the records of raw lines; a line in another form is passed over.

    A line behind a space is a property of the record before it (` SUBSYSTEM=pci`) and no text. A
    record with the flag `c` (or `+`, before Linux 4.10) follows on the one before it.
    """
    last: Record | None = None
    for line in raw:
        hit = HEADER.match(line)
        if hit is None:
            continue
        record = _record(hit, line[hit.end() :])
        if last and hit["flag"] in ("c", "+") and record.facility == last.facility:
            last = msgspec.structs.replace(last, text=(last.text + record.text)[:TEXT_CAP])
            continue
        if last:
            yield last
        last = record
    if last:
        yield last


def _record(hit: re.Match[str], text: str) -> Record:
    priority = int(hit["priority"])
    return Record(
        sequence=int(hit["sequence"]),
        boot_s=int(hit["us"]) / 1e6,
        level=priority & 7,
        facility=priority >> 3,
        text=ESCAPED.sub(_unescaped, text[:TEXT_CAP]).rstrip(),
    )


def _unescaped(hit: re.Match[str]) -> str:
    return bytes.fromhex(hit[0].replace("\\x", "")).decode("utf-8", "backslashreplace")
