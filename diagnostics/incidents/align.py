"""When a finding began, on one clock for all, and how well that is known.

The kernel counts from boot, a log may have no zone or no clock at all, a watchdog tells the end of
a wait and how long it was: `span` brings them together, and keeps what is not known of them.
"""

from collections.abc import Iterable
from typing import Literal, TypeGuard

import msgspec

from diagnostics.finding import Evidence, Finding

# Hosts of one job keep the same time to minutes at worst, where no clock check is at work.
SKEW_S = 300.0
# Text without a wall clock is told by its distance from its own end.
Clock = Literal["wall", "end"]


class Span(msgspec.Struct, gc=False, frozen=True):
    """From when until when, in seconds of `clock`, each to within `error_s`.

    `wall` is the epoch, `end` counts back from the end of the text. `told` is when it was first
    said, which for a collective that timed out is as long after `began` as it had run.
    """

    began: float
    told: float
    last: float
    error_s: float = 0.0
    clock: Clock = "wall"


def span(finding: Finding, now: float | None = None) -> Span | None:
    """Return when it was; None where nothing says it.

    *now* is the wall clock at which it was looked: with it, an age is a time of the wall clock.
    """
    if finding.first_seen is not None:
        last = finding.first_seen if finding.last_seen is None else finding.last_seen
        return _waited(finding, Span(finding.first_seen, finding.first_seen, last, _error(finding)))
    values = finding.evidence[0].values if finding.evidence else {}
    age, last_age = values.get("age_s"), values.get("last_age_s")
    if _number(age) and _number(last_age):
        if now is None:
            return Span(-age, -age, -last_age, clock="end")
        return Span(now - age, now - age, now - last_age, 1.0)
    timed = [evidence for evidence in finding.evidence if evidence.time is not None]
    return _waited(finding, _of_evidence(timed)) if timed else None


def before(cause: Span, consequence: Span, slack_s: float) -> bool:
    """Return whether the cause can have begun before the consequence was told."""
    if cause.clock != consequence.clock:
        return True
    return cause.began <= consequence.told + slack_s


def within(cause: Span, consequence: Span, room_s: tuple[float, float]) -> bool:
    """Return whether the consequence began while the cause lasted, or so soon before or after."""
    if cause.clock != consequence.clock:
        return False
    early, late = room_s
    return cause.began - early <= consequence.began <= cause.last + late


def slack(cause: Finding, consequence: Finding, *spans: Span) -> float:
    """Return by how many seconds their times may be apart from what their clocks say.

    What one source tells has one clock, however wrong; two have two, which differ by minutes.
    """
    if not cause.evidence or not consequence.evidence:
        return 0.0
    quoted = {evidence.source for evidence in cause.evidence}
    if any(evidence.source in quoted for evidence in consequence.evidence):
        return 0.0
    return SKEW_S + sum(span.error_s for span in spans)


def _of_evidence(timed: Iterable[Evidence]) -> Span:
    """Return the span of quoted lines: a stamp without a zone says the hour, and not which."""
    held = sorted((e.time or 0.0, e.time_error_s or 0.0) for e in timed)
    error = max(error for _, error in held)
    return Span(held[0][0], held[0][0], held[-1][0], error)


def _waited(finding: Finding, told: Span) -> Span:
    """Return a wait's own beginning: its end less what it ran for."""
    ran = [e.values.get("ran_ms") for e in finding.evidence]
    waits = [one / 1000.0 for one in ran if _number(one)]
    if not waits:
        return told
    return msgspec.structs.replace(told, began=told.told - max(waits))


def _error(finding: Finding) -> float:
    errors = [e.time_error_s for e in finding.evidence if e.time is not None]
    return max((error for error in errors if error is not None), default=0.0)


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
