"""The kernel log of this boot: /dev/kmsg, else the journal, else syslog(2)."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from collectors.facts.kernel_log import KernelLog, LogSource, Record
from collectors.facts.observation import Cause, Missing
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


class Ring(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's answer: raw lines, where from, and how many records are lost in between.

    `last` is the number to ask for what follows.
    """

    lines: tuple[str, ...]
    lost: int = 0
    source: LogSource = "kmsg"
    last: int | None = None


async def collect(node: Node, wanted: Wanted) -> KernelLog | Missing:
    """Ask the reader for the ring; the times of boot and now come from /proc."""
    del wanted
    ring = await asked(node)
    if isinstance(ring, Missing):
        return ring
    log = KernelLog(records=tuple(parse(ring.lines)), source=ring.source, lost=ring.lost)
    return await timed(node, log, await times(node))


async def asked(node: Node, *, wait_s: int = 0, **question: int) -> Ring | Missing:
    """Return the reader's answer to one question; with *wait_s* it waits for something to tell."""
    waits = {"wait_s": wait_s} if wait_s else {}
    got = await node.ask("kernel_log", deadline_s=5.0 + wait_s, **question, **waits)
    if isinstance(got, Missing):
        verb = "kernel_log" if got.cause is Cause.DENIED else got.verb
        return msgspec.structs.replace(got, what="KernelLog", verb=verb)
    try:
        return msgspec.convert(got, Ring)
    except msgspec.ValidationError as problem:
        return Missing(what="KernelLog", cause=Cause.GARBLED, detail=str(problem))


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """When this boot began (epoch seconds), and how long ago, read at `at` (monotonic seconds)."""

    at: float
    boot_time: float | None
    uptime_s: float | None

    def aged(self, now: float) -> "Times":
        """Return them as they are later, at *now*."""
        up = self.uptime_s
        return msgspec.structs.replace(
            self, at=now, uptime_s=None if up is None else round(up + now - self.at, 2)
        )


async def times(node: Node) -> Times:
    """Read them from /proc."""
    # A machine with many interrupts has over 64 KiB of them in /proc/stat before the line btime.
    seen = await node.files("/proc/stat", "/proc/uptime", cap=1 << 20)
    clock = {} if isinstance(seen, Missing) else seen.texts
    return Times(
        at=node.monotonic(),
        boot_time=_number(r"^btime (\d{1,12})$", clock.get("/proc/stat", "")),
        uptime_s=_number(r"^(\d{1,12}\.\d+) ", clock.get("/proc/uptime", "")),
    )


async def timed(node: Node, log: KernelLog, read: Times) -> KernelLog:
    """Return *log* as one that was read now."""
    boot_id = (await node.identity()).boot_id
    return msgspec.structs.replace(
        log, boot_id=boot_id, boot_time=read.boot_time, uptime_s=read.uptime_s
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
