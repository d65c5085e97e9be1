"""How long requests to local disks take."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.host.disks import PATH, Disk, DiskActivity
from collectors.jobs.expected import Expected
from diagnostics.check import check
from diagnostics.checks.storage.usual import UsualLimits, slower
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found
from diagnostics.series.usual import WAIT

MIB = 2**20
BUSY_PERCENT = 95.0


class LatencyLimits(UsualLimits, frozen=True, kw_only=True):
    """When a disk is slow, and when it is only busy."""

    wait_ms: Annotated[float, msgspec.Meta(gt=0, description="mean time of a request")] = 500.0
    least_requests: Annotated[int, msgspec.Meta(ge=1, description="fewer are not judged")] = 20
    busy_iops: Annotated[
        float, msgspec.Meta(gt=0, description="from here on waiting is a full queue: a note only")
    ] = 200.0
    busy_mib_per_s: Annotated[
        float, msgspec.Meta(gt=0, description="from here on waiting is a full queue: a note only")
    ] = 50.0


@check("storage.latency", stage="processes", faults=("disk_latency_high",), proved="recorded")
def latency(
    seen: DiskActivity, expected: Expected | Missing, limits: LatencyLimits
) -> Iterator[Statement]:
    """Local disks answer within half a second while they are not loaded.

    Loaders and checkpoints wait for them. A disk that moves much is slow because it is asked much;
    one that moves little and still takes long is in trouble itself.
    """
    if not seen.disks:
        yield NotApplicable(why="no local disk in /proc/diskstats")
        return
    slow = [
        f
        for disk in seen.disks
        if (f := _judge(disk, seen.seconds, limits) or _slower(disk, expected, limits))
    ]
    yield from slow
    if not slow:
        waits = [disk.wait_ms for disk in seen.disks if disk.wait_ms is not None]
        worst = f", the slowest took {max(waits):.1f} ms a request" if waits else ", none was used"
        yield Well(message=f"local disks: {len(seen.disks)}{worst}")


def _slower(disk: Disk, expected: Expected | Missing, limits: LatencyLimits) -> Finding | None:
    return slower(WAIT, Subject(kind="disk", name=disk.name), expected, limits)


def _judge(disk: Disk, seconds: float, limits: LatencyLimits) -> Finding | None:
    iops, rate = disk.requests / seconds, disk.bytes_per_s / MIB
    if not disk.requests and disk.in_flight and disk.in_flight_before:
        if disk.busy_percent < BUSY_PERCENT:
            return None
        # One window is short: a spinning disk may well spend it on a single request.
        template = "{disk} completed none of its {in_flight} requests within {seconds} s"
        return _found(disk, "info", template, seconds, "stalled")
    if disk.wait_ms is None or disk.requests < limits.least_requests:
        return None
    if disk.wait_ms <= limits.wait_ms:
        return None
    busy = iops >= limits.busy_iops or rate >= limits.busy_mib_per_s or bool(disk.rotational)
    template = "{disk} took {wait} ms a request at {iops} requests/s and {rate} MiB/s"
    return _found(disk, "info" if busy else "warning", template, seconds)


def _found(
    disk: Disk, severity: Severity, template: str, seconds: float, variant: str = ""
) -> Finding:
    return found(
        "disk_latency_high",
        severity,
        Subject(kind="disk", name=disk.name),
        template,
        Evidence(source=PATH, values=msgspec.to_builtins(disk) | {"seconds": seconds}),
        variant=variant,
        disk=disk.name,
        in_flight=disk.in_flight,
        seconds=f"{seconds:.1f}",
        wait=round(disk.wait_ms or 0.0),
        iops=round(disk.requests / seconds),
        rate=round(disk.bytes_per_s / MIB, 1),
    )
