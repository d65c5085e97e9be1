"""Whether synchronising gradients takes as long as it did before."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from diagnostics.check import Limits, check
from diagnostics.checks.training.given import quoted, unread
from diagnostics.checks.training.steps import at, kept, named, quote, remembered, whole
from diagnostics.finding import NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.baseline import grown
from diagnostics.series.middle import median
from diagnostics.series.point import Point
from diagnostics.series.runs import RunsBefore


class GradientSyncLimits(Limits, frozen=True, kw_only=True):
    """When a rise is told, against the median of the run's own earlier steps."""

    ratio: Annotated[float, msgspec.Meta(gt=1, description="steps since over earlier ones")] = 1.5
    recent: Annotated[int, msgspec.Meta(ge=3, description="steps that it must last")] = 10
    share: Annotated[float, msgspec.Meta(ge=0, le=1, description="least share of the step")] = 0.10
    rise_ms: Annotated[float, msgspec.Meta(ge=0, description="least rise in milliseconds")] = 10.0


@check(
    "training.gradient_sync",
    stage="training",
    faults=("gradient_sync_slow",),
    proved="documented",
)
def gradient_sync(
    seen: TrainingLogs, before: RunsBefore | Missing, limits: GradientSyncLimits
) -> Iterator[Statement]:
    """Gradient synchronisation takes no longer than earlier in the same run.

    It is the part of a step that the network carries: where it grows and compute does not, a link
    got slower or one rank is late and all others wait. The share alone says nothing: models and
    clusters differ, so a run is compared only with itself.
    """
    yield from unread(seen)
    timed = [log for log in seen.logs if any(p.sync_ms is not None for p in log.curve.points)]
    if seen.logs and not timed:
        yield NotApplicable(why="no gradient-sync times are printed (wall_clock_breakdown, timers)")
    for log in timed:
        yield from _judge(log, before, limits)


def _judge(
    log: LogSeen, before: RunsBefore | Missing, limits: GradientSyncLimits
) -> Iterator[Statement]:
    run = kept(log, before)
    points = whole(log, run)
    slow = grown(points, lambda point: point.sync_ms, ratio=limits.ratio, recent=limits.recent)
    share = _share(points[-limits.recent :])
    # Without the step's own time the rise has to speak for itself.
    weighs = share is None or share > limits.share
    if slow is None or slow.change.now - slow.change.before < limits.rise_ms or not weighs:
        times = [point.sync_ms for point in points if point.sync_ms is not None]
        usual = median(times) if times else 0.0
        yield Well(f"gradient sync takes {usual:.1f} ms (median of {len(times):,} steps)")
        return
    change = slow.change
    yield found(
        "gradient_sync_slow",
        "info" if run is not None and run.provisional else "warning",
        named(log),
        "{log}: gradient sync takes {now} ms since {since}, {before} ms in the {earlier} steps "
        "before{share}",
        quote(log, slow.since, sync_ms=slow.since.sync_ms, sync_least_ms=slow.since.sync_least_ms),
        quoted(log, log.curve.synced),
        *remembered(run, before),
        log=log.name,
        now=f"{change.now:,.1f}",
        before=f"{change.before:,.1f}",
        since=at(slow.since),
        earlier=change.earlier,
        share="" if share is None else f"; it is {100 * share:.0f} % of the step",
    )


def _share(points: Sequence[Point]) -> float | None:
    shares = [p.sync_ms / p.step_ms for p in points if p.sync_ms is not None and p.step_ms]
    return median(shares) if shares else None
