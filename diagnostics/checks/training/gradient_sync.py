"""Whether synchronising gradients takes as long as it did before."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from diagnostics.check import Limits, check
from diagnostics.checks.training.given import quoted, subject, unread
from diagnostics.finding import NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.baseline import last_run, median, rise
from diagnostics.series.curve import Point


class GradientSyncLimits(Limits, frozen=True, kw_only=True):
    """When a rise is told, against the median of the run's own earlier steps."""

    ratio: Annotated[float, msgspec.Meta(ge=1, description="last steps over earlier median")] = 1.5
    recent: Annotated[int, msgspec.Meta(ge=3, description="steps that must all be over it")] = 10
    share: Annotated[float, msgspec.Meta(ge=0, le=1, description="least share of the step")] = 0.10
    rise_ms: Annotated[float, msgspec.Meta(ge=0, description="least rise in milliseconds")] = 10.0


@check(
    "training.gradient_sync",
    stage="training",
    faults=("gradient_sync_slow",),
    proved="documented",
)
def gradient_sync(seen: TrainingLogs, limits: GradientSyncLimits) -> Iterator[Statement]:
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
        yield from _judge(log, limits)


def _judge(log: LogSeen, limits: GradientSyncLimits) -> Iterator[Statement]:
    points = last_run(log.curve.points)
    grown = rise(points, lambda point: point.sync_ms, limits.recent)
    share = _share(points[-limits.recent :])
    if (
        grown is not None
        and grown.least > limits.ratio * grown.before
        and grown.now - grown.before >= limits.rise_ms
        and share is not None
        and share > limits.share
    ):
        yield found(
            "gradient_sync_slow",
            "warning",
            subject(log),
            "gradient sync takes {now} ms in the last {recent} steps, {before} ms in the {earlier} "
            "before; it is {percent} % of the step",
            quoted(log, log.curve.synced),
            now=round(grown.now, 1),
            before=round(grown.before, 1),
            recent=grown.recent,
            earlier=grown.earlier,
            percent=round(100 * share),
        )
        return
    usual = median([point.sync_ms for point in points if point.sync_ms is not None] or [0.0])
    yield Well(f"gradient sync takes {usual:.1f} ms (median of {len(points):,} steps)")


def _share(points: list[Point]) -> float | None:
    shares = [p.sync_ms / p.step_ms for p in points if p.sync_ms is not None and p.step_ms]
    return median(shares) if shares else None
