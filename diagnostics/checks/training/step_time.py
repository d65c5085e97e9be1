"""Whether steps take as long as they did before."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from diagnostics.check import Limits, check
from diagnostics.checks.training.given import unread
from diagnostics.checks.training.steps import at, kept, named, quote, remembered, whole
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.baseline import Grown, grown
from diagnostics.series.middle import median
from diagnostics.series.point import Point
from diagnostics.series.runs import Run, RunsBefore


class StepTimeLimits(Limits, frozen=True, kw_only=True):
    """When a rise is told, against the median of the run's own earlier steps."""

    ratio: Annotated[float, msgspec.Meta(gt=1, description="steps since over earlier ones")] = 1.045
    recent: Annotated[int, msgspec.Meta(ge=3, description="steps that it must last")] = 10
    rise_ms: Annotated[float, msgspec.Meta(ge=0, description="least rise in milliseconds")] = 5.0
    others_ratio: Annotated[
        float, msgspec.Meta(gt=1, description="a run over earlier ones of its name; a note")
    ] = 1.15


# Fewer runs do not say what is usual for a name.
OTHERS = 3


@check("training.step_time", stage="training", faults=("slow_step",), proved="documented")
def step_time(
    seen: TrainingLogs, before: RunsBefore | Missing, limits: StepTimeLimits
) -> Iterator[Statement]:
    """Each step takes no longer than earlier in the same run.

    One slow GPU, link or file server slows every rank, for synchronous training waits for the last
    one: 5 % of a large job is a rack, of which medians of noisy steps may show 4.5 %. Evaluation,
    checkpoints and compilation make single steps long, and noise any of them; only a rise is told
    that four in five steps show since it began, to the last, between steps of one batch size since
    the run last started. The agent keeps the first steps of each run, for logs whose beginning is
    out of sight.
    """
    yield from unread(seen)
    timed = [log for log in seen.logs if any(p.step_ms or p.rate for p in log.curve.points)]
    if seen.logs and not timed:
        yield NotApplicable(why="no step times are printed in a form that is known")
    for log in timed:
        run = kept(log, before)
        points, proof = whole(log, run), remembered(run, before)
        slow = _by_time(log, points, limits) or _by_rate(log, points, limits)
        if slow is not None:
            yield _provisional(slow, run, proof)
        else:
            yield _unlike_others(log, before, limits) or _well(points)


def _provisional(slow: Finding, run: Run | None, proof: Sequence[Evidence]) -> Finding:
    """Return the finding with what is remembered; against too few remembered steps it is a note."""
    guess = run is not None and run.provisional
    return msgspec.structs.replace(
        slow, severity="info" if guess else slow.severity, evidence=(*slow.evidence, *proof)
    )


def _unlike_others(
    log: LogSeen, before: RunsBefore | Missing, limits: StepTimeLimits
) -> Finding | None:
    """Return that earlier runs of the same name were faster: a note, for a model may have grown."""
    run = None if isinstance(before, Missing) else before.of(log.name, log.curve)
    if run is None or isinstance(before, Missing):
        return None
    theirs = [one.step_ms for one in before.others(run) if one.step_ms]
    own = [p.step_ms for p in whole(log, None) if p.step_ms][-limits.recent :]
    if len(theirs) < OTHERS or len(own) < limits.recent:
        return None
    now, usual = median(own), median(theirs)
    if now < limits.others_ratio * usual:
        return None
    return found(
        "slow_step",
        "info",
        named(log),
        "{log}: a step takes {now} ms, {usual} ms in {number} earlier runs of this name",
        Evidence(source=before.source, values={"step_ms": usual, "runs": len(theirs)}),
        variant="others",
        log=log.name,
        now=f"{now:,.1f}",
        usual=f"{usual:,.1f}",
        number=len(theirs),
    )


def _by_time(log: LogSeen, points: Sequence[Point], limits: StepTimeLimits) -> Finding | None:
    slow = _grown(points, lambda p: p.step_ms, limits)
    if slow is None or slow.change.now - slow.change.before <= limits.rise_ms:
        return None
    change = slow.change
    return found(
        "slow_step",
        "warning",
        named(log),
        "{log}: a step takes {now} ms since {since}, {before} ms in the {earlier} before: "
        "{percent} % more in {recent} steps",
        quote(log, slow.since, step_ms=slow.since.step_ms),
        log=log.name,
        now=f"{change.now:,.1f}",
        before=f"{change.before:,.1f}",
        since=at(slow.since),
        earlier=change.earlier,
        recent=change.recent,
        percent=round(100 * (change.ratio - 1), 1),
    )


def _by_rate(log: LogSeen, points: Sequence[Point], limits: StepTimeLimits) -> Finding | None:
    if any(p.step_ms is not None for p in points):
        return None
    slow = _grown(points, lambda p: 1e3 / p.rate if p.rate else None, limits)
    if slow is None:
        return None
    change = slow.change
    return found(
        "slow_step",
        "warning",
        named(log),
        "{log}: {now} a second since {since}, {before} in the {earlier} steps before: {percent} % "
        "more time for a step in {recent} steps",
        quote(log, slow.since, rate=slow.since.rate),
        variant="rate",
        log=log.name,
        now=f"{1e3 / change.now:,.1f}",
        before=f"{1e3 / change.before:,.1f}",
        since=at(slow.since),
        earlier=change.earlier,
        recent=change.recent,
        percent=round(100 * (change.ratio - 1), 1),
    )


def _grown(
    points: Sequence[Point], value: Callable[[Point], float | None], limits: StepTimeLimits
) -> Grown | None:
    return grown(
        points,
        value,
        ratio=limits.ratio,
        recent=limits.recent,
        seconds=lambda point: (point.step_ms or 0.0) / 1e3,
    )


def _well(points: Sequence[Point]) -> Well:
    times = [p.step_ms for p in points if p.step_ms is not None]
    if not times:
        rates = [p.rate for p in points if p.rate]
        return Well(f"{median(rates):,.1f} a second (median of {len(rates):,} steps)")
    return Well(f"a step takes {median(times):,.1f} ms (median of {len(times):,})")
