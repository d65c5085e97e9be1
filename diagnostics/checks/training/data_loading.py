"""Whether steps wait for their data."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from diagnostics.check import Limits, check
from diagnostics.checks.training.given import unread
from diagnostics.checks.training.steps import alike, at, named, quote
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.middle import median
from diagnostics.series.point import Point


class DataLoadingLimits(Limits, frozen=True, kw_only=True):
    """How much of a step may be the wait for a batch."""

    share: Annotated[float, msgspec.Meta(gt=0, le=1, description="of a step, in the middle")] = 0.3
    steps: Annotated[int, msgspec.Meta(ge=3, description="last steps that are looked at")] = 20
    wait_ms: Annotated[float, msgspec.Meta(ge=0, description="least wait in milliseconds")] = 10.0


@check(
    "training.data_loading", stage="training", faults=("data_loading_slow",), proved="documented"
)
def data_loading(seen: TrainingLogs, limits: DataLoadingLimits) -> Iterator[Statement]:
    """Each step finds its batch ready.

    What a GPU waits for its data it does not compute. One long wait is the first batch of an epoch
    or a shard that is opened; only where the middle one of the last steps waits are the loaders,
    the processors or the file server too slow for the GPUs.
    """
    yield from unread(seen)
    told = False
    for log in seen.logs:
        timed = [p for p in alike(log) if p.data_ms is not None and p.step_ms]
        if not timed:
            continue
        told = True
        yield _judge(log, timed[-limits.steps :], limits)
    if seen.logs and not told:
        yield NotApplicable(why="no waits for data are printed in a form that is known")


def _judge(log: LogSeen, last: Sequence[Point], limits: DataLoadingLimits) -> Finding | Well:
    waits = [p.data_ms or 0.0 for p in last]
    shares = [(p.data_ms or 0.0) / (p.step_ms or 1.0) for p in last]
    wait, share = median(waits), median(shares)
    if len(last) < limits.steps or share < limits.share or wait < limits.wait_ms:
        return Well(f"a step waits {wait:,.1f} ms for its data, {100 * share:.0f} % of its time")
    middle = min(last, key=lambda p: abs((p.data_ms or 0.0) - wait))
    return found(
        "data_loading_slow",
        "warning",
        named(log),
        "{log}: a step waits {wait} ms for its data, {percent} % of its {step} ms (median of the "
        "last {steps}, as in {where})",
        quote(log, middle, data_ms=middle.data_ms, step_ms=middle.step_ms),
        log=log.name,
        wait=f"{wait:,.1f}",
        percent=round(100 * share),
        step=f"{median([p.step_ms or 0.0 for p in last]):,.1f}",
        steps=len(last),
        where=at(middle),
    )
