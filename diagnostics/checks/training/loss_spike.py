"""Whether the loss keeps to its course."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from diagnostics.check import Limits, check
from diagnostics.checks.training.given import unread
from diagnostics.checks.training.steps import at, named, quote, run
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.spike import Spike, last_spike


class LossSpikeLimits(Limits, frozen=True, kw_only=True):
    """How long a spike that came back is worth a warning."""

    recent: Annotated[
        int, msgspec.Meta(ge=0, description="losses printed since, after which it is a note")
    ] = 200


@check("training.loss_spike", stage="training", faults=("loss_spike",), proved="documented")
def loss_spike(seen: TrainingLogs, limits: LossSpikeLimits) -> Iterator[Statement]:
    """No loss stands far above the course before it.

    A jump that lasts has thrown the run back, often by days, and is seen from the first steps: the
    gradients grow before it. Most come back by themselves; that is said, so that nobody rolls back
    for nothing. The course is the median of the steps before, and a jump is eight of their
    deviations and half as much again.
    """
    yield from unread(seen)
    told = 0
    for log in seen.logs:
        points = run(log)
        losses = sum(p.loss is not None for p in points)
        spike = last_spike(points) if losses else None
        if spike is not None:
            yield _finding(log, spike, limits)
        told += losses
    if told:
        yield Well(f"the loss keeps to its course over {told:,} steps")
    elif seen.logs:
        yield NotApplicable(why="no loss is printed in a form that is known")


def _finding(log: LogSeen, spike: Spike, limits: LossSpikeLimits) -> Finding:
    steep = "" if spike.steep is None else f"; the gradient norm was {spike.steep:.3g} times larger"
    told: dict[str, Any] = {
        "log": log.name,
        "since": at(spike.first),
        "peak": f"{spike.peak.loss:.4g}",
        "before": f"{spike.before:.4g}",
        "high": spike.high,
        "steep": steep,
    }
    proof = [quote(log, spike.first)]
    proof += [quote(log, spike.peak)] if spike.peak is not spike.first else []
    if spike.back is None:
        return found(
            "loss_spike",
            "warning",
            named(log),
            "{log}: the loss jumped from {before} to {peak} at {since} and has not come back; "
            "{high} steps are high{steep}",
            *proof,
            **told,
        )
    new = spike.certain and spike.after <= limits.recent
    return found(
        "loss_spike",
        "warning" if new else "info",
        named(log),
        "{log}: the loss jumped from {before} to {peak} at {since} and came back to {back} at "
        "{then}{steep}: watch it, nothing is to be undone",
        *proof,
        quote(log, spike.back),
        kind="event",
        variant="recovered",
        back=f"{spike.back.loss:.4g}",
        then=at(spike.back),
        **told,
    )
