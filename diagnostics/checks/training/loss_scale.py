"""Whether fp16's loss scale finds its level."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from diagnostics.check import Limits, check
from diagnostics.checks.training.given import evidence, subject, unread
from diagnostics.checks.training.steps import at, named, quote, run
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.scale import Fall, falls


class LossScaleLimits(Limits, frozen=True, kw_only=True):
    """How far a scale may fall without a step in between."""

    times: Annotated[int, msgspec.Meta(ge=2, description="steps in a row that lower it")] = 4
    halvings: Annotated[float, msgspec.Meta(ge=2, description="or so many halvings in all")] = 6.0
    low: Annotated[float, msgspec.Meta(gt=0, description="no search at the start ends here")] = (
        128.0
    )


@check(
    "training.loss_scale",
    stage="training",
    faults=("loss_scale_collapse", "loss_scale_floor"),
    proved="documented",
)
def loss_scale(seen: TrainingLogs, limits: LossScaleLimits) -> Iterator[Statement]:
    """Now and then a step lowers the loss scale, not one after another.

    Each step that lowers it is skipped and learns nothing. One in a thousand is how dynamic scaling
    works, and so are a dozen at the very start. A scale that falls on in the middle of a run says
    that the gradients grow beyond fp16, or are NaN already: then no scale helps.
    """
    yield from unread(seen)
    told = 0
    for log in seen.logs:
        points = run(log)
        lowered = [fall for fall in falls(points) if _counts(fall, limits)]
        if any(hit.fault == "loss_scale_floor" for hit in log.hits):
            yield _floor(log)
        if lowered:
            yield _collapse(log, lowered[-1])
        told += sum(p.loss_scale is not None for p in points)
    if told:
        yield Well(f"the loss scale keeps its level over {told:,} steps")
    elif seen.logs:
        yield NotApplicable(why="no loss scale is printed: bf16 and fp32 need none")


def _counts(fall: Fall, limits: LossScaleLimits) -> bool:
    if not fall.learnt and fall.ended > limits.low:
        return False
    return fall.times >= limits.times or (fall.learnt and fall.halved >= limits.halvings)


def _collapse(log: LogSeen, fall: Fall) -> Finding:
    return found(
        "loss_scale_collapse",
        "critical" if fall.on and fall.ended <= 1 else "warning",
        named(log),
        "{log}: the loss scale fell from {started} to {ended} in {times} steps from {since} on, "
        "each of them skipped{on}",
        quote(log, fall.first),
        quote(log, fall.last),
        count=fall.times,
        confidence=0.95,
        log=log.name,
        started=f"{fall.started:,.10g}",
        ended=f"{fall.ended:,.10g}",
        times=fall.times,
        since=at(fall.first),
        on=", and is still falling" if fall.on else "",
    )


def _floor(log: LogSeen) -> Finding:
    hits = [hit for hit in log.hits if hit.fault == "loss_scale_floor"]
    return found(
        "loss_scale_floor",
        "critical",
        subject(log, hits),
        "{log}: the loss scale is at its minimum and the step still overflows: training ends there",
        *evidence(log, hits),
        kind="event",
        rule=hits[0].rule,
        count=sum(hit.count for hit in hits),
        log=log.name,
    )
