"""What was changed on this node in the last two days."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.host.changes import NOTED, UPTIME, PackageChanges, Placed
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found
from diagnostics.incidents.clauses import change

HOUR = 3600.0
QUOTED, NAMED = 40, 3


class ChangesLimits(Limits, frozen=True, kw_only=True):
    """How long a change is news."""

    recent_h: Annotated[
        float, msgspec.Meta(gt=0, description="hours for which a change is told")
    ] = 48.0


@check(
    "host.changes",
    stage="processes",
    faults=("software_changed", "node_changed"),
    proved="real-tool",
)
def changes(seen: PackageChanges, limits: ChangesLimits) -> Iterator[Statement]:
    """No package, firmware, part or setting of this node was changed during the last two days.

    A change is no fault. What breaks in the hours after one is likely to have to do with it, and an
    incident tells the changes of the 24 h before it. Packages are of driver, kernel, network and
    scheduler; the rest, and what was removed, is what the agent saw to be otherwise than before.
    """
    hours, since = limits.recent_h, seen.now - limits.recent_h * HOUR
    placed = [p for p in seen.packages if since <= p.time <= seen.now]
    other = sorted(_others(seen, since), key=lambda one: -(one.time or 0.0))
    if placed:
        yield _packages(placed, seen.tool or "", hours)
    if other:
        yield _rest(other, hours)
    if seen.tool is None and not other:
        yield NotApplicable(why="no package manager that tells when a package was put in")
    elif not placed and not other:
        yield Well(f"none of {len(seen.packages)} packages changed in {hours:g} h")


def _packages(placed: Sequence[Placed], tool: str, hours: float) -> Finding:
    return found(
        "software_changed",
        "info",
        NODE,
        "packages put in or removed in the last {hours:g} h: {names}",
        *(_package(tool, one) for one in placed[:QUOTED]),
        kind="event",
        confidence=1.0,
        first_seen=placed[-1].time,
        last_seen=placed[0].time,
        hours=hours,
        names=_some([one.name for one in placed]),
    )


def _package(tool: str, one: Placed) -> Evidence:
    kind = "removed" if one.removed else "package"
    return change(tool, one.time, kind, name=one.name, version=one.version)


def _others(seen: PackageChanges, since: float) -> Iterator[Evidence]:
    """Yield what is no package's own time: what the agent noted, and that the node was started."""
    for one in seen.noted:
        if not since <= one.time <= seen.now:
            continue
        about = {"name": one.name, "subject": one.subject}
        before, after = one.serial or (one.before or "none", one.after or "none")
        if one.kind == "package":
            yield change(NOTED, one.time, "removed", version=before, **about)
        elif one.kind == "image":
            yield change(NOTED, one.time, "image", **about)
        else:
            yield change(NOTED, one.time, one.kind, before=before, after=after, **about)
    if seen.booted is not None and since <= seen.booted:
        yield change(UPTIME, seen.booted, "started")


def _rest(other: Sequence[Evidence], hours: float) -> Finding:
    times = [one.time for one in other if one.time is not None]
    return found(
        "node_changed",
        "info",
        NODE,
        "changed on this node in the last {hours:g} h: {names}",
        *other[:QUOTED],
        kind="event",
        confidence=1.0,
        first_seen=min(times),
        last_seen=max(times),
        hours=hours,
        names=_some([one.text or "" for one in other]),
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
