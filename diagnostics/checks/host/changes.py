"""What was put in on this node in the last two days."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.host.changes import PackageChanges
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, NotApplicable, Statement, Well, found

HOUR = 3600.0
QUOTED, NAMED = 40, 3


class ChangesLimits(Limits, frozen=True, kw_only=True):
    """How long a change is news."""

    recent_h: Annotated[
        float, msgspec.Meta(gt=0, description="hours for which a change of packages is told")
    ] = 48.0


@check("host.changes", stage="processes", faults=("software_changed",), proved="real-tool")
def changes(seen: PackageChanges, limits: ChangesLimits) -> Iterator[Statement]:
    """No package of driver, kernel, network or scheduler was put in during the last two days.

    A change is no fault. What breaks in the hours after one is likely to have to do with it, and an
    incident tells the changes of the 24 h before it.
    """
    if seen.tool is None:
        yield NotApplicable(why="no package manager that tells when a package was put in")
        return
    recent = [p for p in seen.packages if 0 <= seen.now - p.time <= limits.recent_h * HOUR]
    if not recent:
        yield Well(f"none of {len(seen.packages)} packages changed in {limits.recent_h:g} h")
        return
    yield found(
        "software_changed",
        "info",
        NODE,
        "{packages} packages were put in during the last {hours:g} h: {names}",
        *(
            Evidence(source=seen.tool, text=f"package {p.name} {p.version}", time=p.time)
            for p in recent[:QUOTED]
        ),
        kind="event",
        confidence=1.0,
        first_seen=recent[-1].time,
        last_seen=recent[0].time,
        packages=len(recent),
        hours=limits.recent_h,
        names=", ".join(p.name for p in recent[:NAMED])
        + (f" and {len(recent) - NAMED} more" if len(recent) > NAMED else ""),
    )
