"""What NFS mounts did between two samples of the client's own statistics; no server is asked."""

import re

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.host.mounts import unescape
from collectors.node.protocol import Node

# A service's own view lacks mounts that were made after it started: the first process has all.
VIEWS = ("/proc/1/mountstats", "/proc/self/mountstats")
CAP = 4 << 20
MOST = 256

# device store-1:/scratch mounted on /scratch with fstype nfs4 statvers=1.1
DEVICE = re.compile(
    r"device (?P<source>\S{1,400}) mounted on (?P<point>\S{1,4096}) with fstype (?P<fstype>\S{1,9})"
)
#         READ: 1204 1206 2 221536 805306368 12 30841 31020 0
OPERATION = re.compile(r"\s{1,12}(?P<name>[A-Z_0-9]{2,40}): (?P<counts>\d[\d ]{13,400})\s*")
OPERATION_FIELDS = 8
#     xprt:   tcp 875 1 1 0 12 4711 4709 0 31022 0 2 104 98
SENT = re.compile(r"\s+xprt:\s+(?:tcp|rdma)(?P<counts>(?: \d{1,20}){7,40})\s*")


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of one mount since it was mounted; requests in flight are those without an answer."""

    source: str
    operations: int = 0
    transmissions: int = 0
    timeouts: int = 0
    moved_bytes: int = 0
    rtt_ms: int = 0
    sent: int = 0
    answered: int = 0


class NfsMount(msgspec.Struct, frozen=True, kw_only=True):
    """One mount over the window; `rtt_ms` is a request's mean time to its answer, None if none.

    `resent` requests were sent again; `timeouts` counts those that met the mount's own timeout;
    `unanswered` were on their way at both samples while nothing came back.
    """

    point: str
    source: str
    operations: int
    resent: int
    timeouts: int
    bytes_per_s: float
    rtt_ms: float | None = None
    unanswered: int = 0


class NfsActivity(Observation, frozen=True, kw_only=True):
    """All NFS mounts over `seconds`."""

    seconds: float
    mounts: tuple[NfsMount, ...]
    source: str = VIEWS[0]


async def collect(node: Node, wanted: Wanted) -> NfsActivity | Missing:
    """Read the statistics twice, `sample_s` apart; once where there is no NFS mount."""
    before = await _read(node)
    if isinstance(before, Missing):
        return before
    path, first = before
    if not first:
        return NfsActivity(seconds=0.0, mounts=(), source=path)
    began = node.monotonic()
    await node.sleep(wanted.sample_s)
    after = await _read(node)
    if isinstance(after, Missing):
        return after
    seconds = max(node.monotonic() - began, 1e-3)
    last = after[1]
    mounts = (
        between(point, first[point], last[point], seconds) for point in first if point in last
    )
    return NfsActivity(
        seconds=round(seconds, 3), mounts=tuple(m for m in mounts if m is not None), source=path
    )


async def _read(node: Node) -> tuple[str, dict[str, Counted]] | Missing:
    seen = await node.files(*VIEWS, cap=CAP)
    if isinstance(seen, Missing):
        return seen
    path = next((path for path in VIEWS if seen.get(path) is not None), None)
    if path is None:
        return Missing(what="NfsActivity", cause=Cause.GARBLED, detail=f"no {VIEWS[1]}")
    return path, parse(seen.get(path) or "")


def parse(text: str) -> dict[str, Counted]:
    """Return the totals of each NFS mount by its mount point."""
    found: dict[str, Counted] = {}
    point: str | None = None
    for line in text.split("\n"):
        if line.startswith("device "):
            hit = DEVICE.match(line)
            nfs = hit is not None and hit["fstype"] in ("nfs", "nfs4") and len(found) < MOST
            point = unescape(hit["point"]) if hit and nfs else None
            if hit and point is not None:
                found[point] = Counted(source=unescape(hit["source"]))
        elif point is not None:
            found[point] = _added(found[point], line)
    return found


def _added(total: Counted, line: str) -> Counted:
    """Return the totals with one line of the mount's statistics."""
    if hit := OPERATION.fullmatch(line):
        counts = [int(word) for word in hit["counts"].split()]
        if len(counts) < OPERATION_FIELDS:
            return total
        return msgspec.structs.replace(
            total,
            operations=total.operations + counts[0],
            transmissions=total.transmissions + counts[1],
            timeouts=total.timeouts + counts[2],
            moved_bytes=total.moved_bytes + counts[3] + counts[4],
            rtt_ms=total.rtt_ms + counts[6],
        )
    if hit := SENT.fullmatch(line):
        # tcp: port, binds, connects, time of these, idle, sent, received; rdma has the same seven.
        counts = [int(word) for word in hit["counts"].split()]
        return msgspec.structs.replace(
            total, sent=total.sent + counts[5], answered=total.answered + counts[6]
        )
    return total


def between(point: str, first: Counted, last: Counted, seconds: float) -> NfsMount | None:
    """Return what happened between two samples, None where it was mounted anew in between."""
    operations = last.operations - first.operations
    resent = (last.transmissions - first.transmissions) - operations
    moved = last.moved_bytes - first.moved_bytes
    if operations < 0 or moved < 0 or last.source != first.source:
        return None
    still = last.answered == first.answered
    waiting = min(first.sent - first.answered, last.sent - last.answered)
    return NfsMount(
        point=point,
        source=first.source,
        operations=operations,
        resent=max(resent, 0),
        timeouts=max(last.timeouts - first.timeouts, 0),
        bytes_per_s=round(moved / seconds, 1),
        rtt_ms=round((last.rtt_ms - first.rtt_ms) / operations, 3) if operations else None,
        unanswered=max(waiting, 0) if still else 0,
    )
