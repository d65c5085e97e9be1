"""The power limits that gpudiag itself holds down, and those that it leaves to others."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.subject import Subject
from collectors.gpu.caps import PATH, Cap, Ended, HandedOver, PowerCaps
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

# By these names the node is held down by its BMC.
BMC = {"dcmi": "DCMI", "redfish": "Redfish"}
# How the actor begins its words of a cap that ended.
RESTORED, LEFT, EXPIRED = "restored", "left", "nobody renewed it"


class CapsLimits(Limits, frozen=True, kw_only=True):
    """How long the end of a cap is told."""

    told_s: Annotated[float, msgspec.Meta(ge=0, description="seconds since a cap ended")] = 3600.0


@check(
    "gpu.caps",
    stage="driver",
    faults=(
        "thermal_throttling_active",
        "foreign_power_limit",
        "gpudiag_cap_lifted_by_deadline",
    ),
    proved="recorded",
)
def caps(seen: PowerCaps, limits: CapsLimits) -> Iterator[Statement]:
    """No power limit is held down by gpudiag itself.

    A cap of ours slows the whole job by design: who looks for a straggler has to know of it, and of
    what it could not hold. It ends by itself when the heat does.
    """
    people = {one.subject: one for one in seen.handed_over}
    findings = [_held(cap, people.pop(cap.subject, None)) for cap in seen.held]
    findings += [_left_hot(one) for one in people.values() if one.phase == "foreign"]
    on = {cap.subject for cap in seen.held}
    for ended in _last(seen):
        if ended.subject not in on and 0 <= seen.now - ended.at <= limits.told_s:
            findings += _ended(ended)
    yield from findings
    if not findings and seen.ended:
        yield Well(message="no power limit is held down by gpudiag")
    elif not findings:
        yield NotApplicable(why="gpudiag has never held a power limit down since this boot")


def _last(seen: PowerCaps) -> Iterator[Ended]:
    """Yield how the last cap of each subject ended."""
    yield from {one.subject: one for one in seen.ended}.values()


def _held(cap: Cap, person: HandedOver | None) -> Finding:
    return found(
        "thermal_throttling_active",
        "warning" if person else "info",
        _subject(cap.subject),
        "gpudiag holds {what} at {limit} of {before}: {why}{person}",
        _evidence(limit=cap.limit, before=cap.before, since=cap.since),
        variant="handed_over" if person else "",
        what=named(cap.subject),
        limit=measure(cap.limit, cap.unit),
        before=measure(cap.before, cap.unit),
        why=cap.why,
        person=f"; a person is needed: {person.why}" if person else "",
    )


def _left_hot(one: HandedOver) -> Finding:
    return found(
        "foreign_power_limit",
        "warning",
        _subject(one.subject),
        "gpudiag leaves {what} alone: {why}",
        _evidence(why=one.why),
        variant="hot",
        what=named(one.subject),
        why=one.why,
    )


def _ended(ended: Ended) -> Iterator[Finding]:
    if ended.how.startswith(LEFT):
        yield found(
            "foreign_power_limit",
            "info",
            _subject(ended.subject),
            "gpudiag let go of {what}; {how}",
            _evidence(how=ended.how, because=ended.because),
            what=named(ended.subject),
            how=ended.how,
        )
    elif ended.how.startswith(RESTORED) and ended.because == EXPIRED:
        yield found(
            "gpudiag_cap_lifted_by_deadline",
            "warning",
            _subject(ended.subject),
            "nobody renewed the cap on {what} for 15 min: {how}",
            _evidence(how=ended.how, because=ended.because),
            what=named(ended.subject),
            how=ended.how,
        )


def _subject(name: str) -> Subject:
    return NODE if name in BMC else Subject(kind="gpu", name=name)


def named(name: str) -> str:
    """Return in words what a cap is on."""
    return f"the node by {BMC[name]}" if name in BMC else f"GPU {name}"


def measure(limit: int, unit: str) -> str:
    """Return a limit with its unit, power in W."""
    return f"{round(limit / 1000)} W" if unit == "mW" else f"{limit} {unit}"


def _evidence(**values: object) -> Evidence:
    return Evidence(source=PATH, values=values)
