"""How the boot before this one ended."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.bmc.events import BmcEvents
from collectors.facts.observation import Missing
from collectors.kernel.last_boot import BootEnd, Crash, LastBoot
from diagnostics.check import NODE, Limits, check
from diagnostics.checks.kernel.boot_cause import ENDED, BootCause, boot_cause
from diagnostics.checks.kernel.words import HOUR, span
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

QUOTED_LINES = 5

PANIC = "{ago} ago the kernel panicked: {why}"
PANICS = "{ago} ago the kernel panicked: {why} (the newest of {count} panics that are kept)"
NO_REASON = "the line with its reason was not kept"


class LastBootLimits(Limits, frozen=True, kw_only=True):
    """How long the end of a boot is news."""

    recent_h: Annotated[
        float, msgspec.Meta(gt=0, description="hours for which a panic or restart is a fault")
    ] = 24.0


@check(
    "driver.last_boot",
    stage="driver",
    faults=("kernel_panic", "unexpected_reboot"),
    proved="documented",
)
def last_boot(
    seen: LastBoot, log: BmcEvents | Missing, limits: LastBootLimits
) -> Iterator[Statement]:
    """No panic is kept of the last day, and the boot before this one was ended on purpose.

    A node that starts again by itself ends every job on it, and looks healthy afterwards: its
    counters begin at zero. A shutdown that was asked for is told by the services that carry it out.
    What ended it otherwise is told by a panic's text, by the BMC's log, or by the last lines.
    """
    if seen.crashes:
        yield _panic(seen.crashes, limits)
    if seen.end is not None and _abrupt(seen):
        yield _restart(seen.end, boot_cause(seen, seen.end, log), limits)
    yield from (Unseen(missing=missing) for missing in seen.unseen)
    if _shut_down(seen) and not seen.crashes:
        yield Well(f"the boot before was shut down{_words(seen.end)}, and no panic is kept")
    elif not _abrupt(seen) and not seen.crashes:
        yield NotApplicable(why="this node keeps no journal of how the boot before ended")


def _shut_down(seen: LastBoot) -> bool:
    """Return whether journal or wtmp tells of a shutdown."""
    return bool(seen.shut_down or (seen.end and seen.end.shutdown))


def _abrupt(seen: LastBoot) -> bool:
    """Return whether there is a journal that ends without a shutdown, and wtmp has none either."""
    return seen.end is not None and not _shut_down(seen)


def _words(end: BootEnd | None) -> str:
    return "" if end is None else f" {span(end.age_s)} ago"


def _panic(kept: tuple[Crash, ...], limits: LastBootLimits) -> Finding:
    newest = kept[0]
    return found(
        "kernel_panic",
        "critical" if newest.age_s <= limits.recent_h * HOUR else "info",
        NODE,
        PANIC if len(kept) == 1 else PANICS,
        *(Evidence(source=c.path, text=c.why, time=c.time) for c in kept[:QUOTED_LINES]),
        kind="event",
        variant="" if len(kept) == 1 else "several",
        count=len(kept),
        confidence=0.95,
        first_seen=kept[-1].time,
        last_seen=newest.time,
        ago=span(newest.age_s),
        why=newest.why or NO_REASON,
    )


def _restart(end: BootEnd, cause: BootCause, limits: LastBootLimits) -> Finding:
    return found(
        "unexpected_reboot",
        "critical" if end.age_s <= limits.recent_h * HOUR else "info",
        NODE,
        ENDED[cause.variant],
        Evidence(
            source="journalctl --boot=-1",
            text=end.kernel[-1] if end.kernel else None,
            time=end.time,
            values={
                "boot_id": end.boot_id,
                "last_lines": list(end.kernel[-QUOTED_LINES:]),
                "ended_by": cause.kind,
            },
        ),
        *cause.evidence,
        kind="event",
        variant=cause.variant,
        confidence=cause.confidence,
        first_seen=end.time,
        last_seen=end.time,
        ago=span(end.age_s),
        **cause.args,
    )
