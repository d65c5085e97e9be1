"""What local disks did between two samples of /proc/diskstats."""

import re

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

PATH = "/proc/diskstats"
ROTATIONAL = "/sys/block/*/queue/rotational"
# 259 1 nvme0n1 107192 31545 4565866 29721 13201 33498 1473840 6044 2 12020 36306 6510 53 165336 476
# Whole local disks: a partition, loop, ram or device-mapper entry counts the same requests again.
LINE = re.compile(
    r"\s*\d+\s+\d+\s+(?P<name>nvme\d+n\d+|(?:sd|vd|xvd)[a-z]+|md\d+)\s+(?P<counts>[\d\s]+)"
)
FIELDS = 11
SECTOR_BYTES = 512
# The kernel counts milliseconds in 32 bits.
WRAP = 1 << 32


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """One line of diskstats: requests completed, sectors moved, ms that requests took, ms busy."""

    requests: int
    sectors: int
    waited_ms: int
    in_flight: int
    busy_ms: int


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """One disk over the window; `wait_ms` is the mean time of a request, None if none ended.

    `in_flight` requests waited at the end (`in_flight_before` at the start); busy is the share of
    the window with a request under way.
    """

    name: str
    requests: int
    wait_ms: float | None = None
    bytes_per_s: float
    in_flight_before: int
    in_flight: int
    busy_percent: float
    rotational: bool | None = None


class DiskActivity(Observation, frozen=True, kw_only=True):
    """All local disks over `seconds`."""

    seconds: float
    disks: tuple[Disk, ...]


async def collect(node: Node, wanted: Wanted) -> DiskActivity | Missing:
    """Read the counters twice, `sample_s` apart."""
    before = await node.files(PATH, ROTATIONAL)
    if isinstance(before, Missing):
        return before
    began = node.monotonic()
    await node.sleep(wanted.sample_s)
    after = await node.files(PATH)
    if isinstance(after, Missing):
        return after
    seconds = node.monotonic() - began
    first, last = parse(before.get(PATH) or ""), parse(after.get(PATH) or "")
    if before.get(PATH) is None or seconds <= 0:
        return Missing(what="DiskActivity", cause=Cause.GARBLED, detail=f"{PATH} is not there")
    turning = {keys[0]: text.strip() == "1" for keys, text in before.match(ROTATIONAL)}
    disks = (
        between(name, first[name], last[name], seconds, rotational=turning.get(name))
        for name in first
        if name in last
    )
    return DiskActivity(seconds=round(seconds, 3), disks=tuple(d for d in disks if d is not None))


def parse(text: str) -> dict[str, Counters]:
    """Return the counters of each local disk."""
    found = {}
    for line in text.splitlines():
        hit = LINE.fullmatch(line)
        counts = [int(word) for word in hit["counts"].split()] if hit else []
        if hit is None or len(counts) < FIELDS:
            continue
        found[hit["name"]] = Counters(
            requests=counts[0] + counts[4],
            sectors=counts[2] + counts[6],
            waited_ms=counts[3] + counts[7],
            in_flight=counts[8],
            busy_ms=counts[9],
        )
    return found


def between(
    name: str, first: Counters, last: Counters, seconds: float, *, rotational: bool | None = None
) -> Disk | None:
    """Return what happened between two samples, None where the disk was exchanged in between."""
    requests = last.requests - first.requests
    sectors = last.sectors - first.sectors
    if requests < 0 or sectors < 0:
        return None
    waited = (last.waited_ms - first.waited_ms) % WRAP
    busy = (last.busy_ms - first.busy_ms) % WRAP
    return Disk(
        name=name,
        requests=requests,
        wait_ms=round(waited / requests, 3) if requests else None,
        bytes_per_s=round(sectors * SECTOR_BYTES / seconds, 1),
        in_flight_before=first.in_flight,
        in_flight=last.in_flight,
        busy_percent=round(min(busy / (seconds * 10), 100.0), 1),
        rotational=rotational,
    )
