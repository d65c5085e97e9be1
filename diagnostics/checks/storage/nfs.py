"""Whether NFS servers answer, by the client's own counts."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.host.nfs import NfsActivity, NfsMount
from collectors.jobs.expected import Expected
from diagnostics.check import check
from diagnostics.checks.storage.usual import UsualLimits, slower
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found
from diagnostics.series.usual import RTT

MIB = 2**20


class NfsLimits(UsualLimits, frozen=True, kw_only=True):
    """When an NFS server is slow, and when requests are lost on the way.

    No public source gives numbers. Over TCP the client sends again only after 60 s (timeo=600) or
    on a new connection, so that a share of 5 % is no chance; 500 ms is what storage.latency allows
    a local disk.
    """

    resent_percent: Annotated[
        float, msgspec.Meta(gt=0, description="share of requests that were sent again")
    ] = 5.0
    rtt_ms: Annotated[float, msgspec.Meta(gt=0, description="mean time to an answer")] = 500.0
    least_operations: Annotated[int, msgspec.Meta(ge=1, description="fewer are not judged")] = 20
    busy_mib_per_s: Annotated[
        float, msgspec.Meta(gt=0, description="from here on waiting is a full queue: a note only")
    ] = 50.0


@check(
    "storage.nfs",
    stage="processes",
    faults=("storage_hang", "disk_latency_high"),
    proved="documented",
)
def nfs(seen: NfsActivity, expected: Expected | Missing, limits: NfsLimits) -> Iterator[Statement]:
    """NFS servers answer within half a second, and no request has to be sent again.

    A rank that reads its data or writes a checkpoint waits for the server, and all others for it.
    The client counts what it sent and how long answers took, so that no server has to be asked.
    """
    if not seen.mounts:
        yield NotApplicable(why="no NFS mount")
        return
    told = [
        one
        for mount in seen.mounts
        if (one := _judge(mount, seen, limits) or _slower(mount, expected, limits))
    ]
    yield from told
    if not told:
        times = [mount.rtt_ms for mount in seen.mounts if mount.rtt_ms is not None]
        worst = f", the slowest answered in {max(times):.1f} ms" if times else ", none was used"
        yield Well(f"NFS mounts: {len(seen.mounts)}{worst}")


def _slower(mount: NfsMount, expected: Expected | Missing, limits: NfsLimits) -> Finding | None:
    return slower(RTT, Subject(kind="mount", name=mount.point), expected, limits)


def _judge(mount: NfsMount, seen: NfsActivity, limits: NfsLimits) -> Finding | None:
    enough = mount.operations >= limits.least_operations
    sent = mount.operations + mount.resent
    if mount.timeouts and mount.resent * 100.0 >= limits.resent_percent * sent:
        template = "{source} did not answer {timeouts} requests of {point} within the mount's time"
        return _found(("storage_hang", "warning", "timeouts"), mount, seen, template)
    if enough and mount.resent * 100.0 >= limits.resent_percent * sent:
        template = "{resent} of {sent} requests of {point} to {source} had to be sent again"
        return _found(("storage_hang", "warning", "resent"), mount, seen, template)
    if mount.unanswered:
        # One window is short: a server may take a second for a large write.
        template = "{source} answered none of the {unanswered} requests of {point} in {seconds} s"
        return _found(("storage_hang", "info", "unanswered"), mount, seen, template)
    if enough and mount.rtt_ms is not None and mount.rtt_ms > limits.rtt_ms:
        busy = mount.bytes_per_s / MIB >= limits.busy_mib_per_s
        template = "{source} took {rtt} ms to answer a request of {point}, at {rate} MiB/s"
        severity: Severity = "info" if busy else "warning"
        return _found(("disk_latency_high", severity, "nfs"), mount, seen, template)
    return None


def _found(
    about: tuple[str, Severity, str], mount: NfsMount, seen: NfsActivity, template: str
) -> Finding:
    fault, severity, variant = about
    return found(
        fault,
        severity,
        Subject(kind="mount", name=mount.point),
        template,
        Evidence(source=seen.source, values=msgspec.to_builtins(mount) | {"seconds": seen.seconds}),
        variant=variant,
        source=mount.source,
        point=mount.point,
        timeouts=mount.timeouts,
        resent=mount.resent,
        sent=mount.operations + mount.resent,
        unanswered=mount.unanswered,
        seconds=f"{seen.seconds:.1f}",
        rtt=round(mount.rtt_ms or 0.0),
        rate=round(mount.bytes_per_s / MIB, 1),
    )
