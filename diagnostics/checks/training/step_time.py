"""Whether steps take as long as they did before."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from diagnostics.check import Limits, check
from diagnostics.checks.training.given import quoted, subject, unread
from diagnostics.finding import NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.baseline import last_run, median, rise


class StepTimeLimits(Limits, frozen=True, kw_only=True):
    """When a rise is told, against the median of the run's own earlier steps."""

    ratio: Annotated[float, msgspec.Meta(ge=1, description="last steps over earlier median")] = 1.5
    recent: Annotated[int, msgspec.Meta(ge=3, description="steps that must all be over it")] = 10
    rise_ms: Annotated[float, msgspec.Meta(ge=0, description="least rise in milliseconds")] = 10.0


@check("training.step_time", stage="training", faults=("slow_step",), proved="documented")
def step_time(seen: TrainingLogs, limits: StepTimeLimits) -> Iterator[Statement]:
    """Each step takes no longer than earlier in the same run.

    One slow GPU, link or file server slows every rank, for synchronous training waits for the last
    one. Evaluation, checkpoints and compilation make single steps long; only a rise that lasts is
    told, and only between steps of one batch size since the run last started.
    """
    yield from unread(seen)
    timed = [log for log in seen.logs if any(p.step_ms is not None for p in log.curve.points)]
    if seen.logs and not timed:
        yield NotApplicable(why="no step times are printed in a form that is known")
    for log in timed:
        yield from _judge(log, limits)


def _judge(log: LogSeen, limits: StepTimeLimits) -> Iterator[Statement]:
    points = last_run(log.curve.points)
    grown = rise(points, lambda point: point.step_ms, limits.recent)
    if (
        grown is not None
        and grown.least > limits.ratio * grown.before
        and grown.now - grown.before >= limits.rise_ms
    ):
        yield found(
            "slow_step",
            "warning",
            subject(log),
            "a step takes {now} ms in the last {recent}, {before} ms in the {earlier} before",
            quoted(log, log.curve.timed),
            now=round(grown.now, 1),
            before=round(grown.before, 1),
            recent=grown.recent,
            earlier=grown.earlier,
        )
        return
    usual = median([point.step_ms for point in points if point.step_ms is not None] or [0.0])
    yield Well(f"a step takes {usual:.1f} ms (median of {len(points):,})")
