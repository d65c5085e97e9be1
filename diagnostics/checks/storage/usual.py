"""Storage that answers slower than it usually does on this node."""

from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.jobs.expected import Expected
from diagnostics.check import Limits
from diagnostics.finding import Evidence, Finding, found
from diagnostics.series.usual import usual

SLOWER = "{what} took {lately} ms a request in the last hour, and {middle} ms in most hours before"


class UsualLimits(Limits, frozen=True, kw_only=True):
    """When an hour is slower than others of the node.

    No public source gives numbers. What a job asks for changes how long answers take, so that five
    times the usual is told as a note, and never as a fault of the storage.
    """

    slower_times: Annotated[
        float, msgspec.Meta(gt=1, description="an hour's mean against that of most hours")
    ] = 5.0
    slower_ms: Annotated[float, msgspec.Meta(ge=0, description="less than this is fast")] = 50.0


def slower(
    kind: str, subject: Subject, expected: Expected | Missing, limits: UsualLimits
) -> Finding | None:
    """Return that the last whole hour was slower than this node's hours are; *kind* is a rate's."""
    if isinstance(expected, Missing) or expected.before is None:
        return None
    hours = expected.before.usual.get(kind + subject.name, ())
    known = usual(hours)
    if known is None or not known.above(limits.slower_times, limits.slower_ms):
        return None
    return found(
        "disk_latency_high",
        "info",
        subject,
        SLOWER,
        Evidence(
            source=expected.before.source,
            text=kind + subject.name,
            values={"hours": known.hours, "provisional": known.provisional},
        ),
        variant="usual",
        what=subject.name,
        lately=round(known.lately, 1),
        middle=round(known.middle, 1),
    )
