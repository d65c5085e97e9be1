"""Whether a log goes on with steps, or only with lines that say nothing of them."""

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec

from diagnostics.check import Limits, check
from diagnostics.checks.training.given import unread
from diagnostics.checks.training.steps import named, quote, run
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.rest import Rest
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.middle import median
from diagnostics.series.point import Point

# iteration    45000/  115311 |          377/2724 [13:55:57<
OF_ALL = re.compile(r"\b(?P<step>\d{1,12})/\s{0,8}(?P<total>\d{1,12})\b")


class StoodLimits(Limits, frozen=True, kw_only=True):
    """From when on a log that only repeats itself is told."""

    least_s: Annotated[
        float, msgspec.Meta(gt=0, description="seconds of lines that only repeat")
    ] = 1800.0
    steps: Annotated[
        float, msgspec.Meta(gt=0, description="usual steps that would have ended meanwhile")
    ] = 10.0


@check("training.stood", stage="training", faults=("training_hang",), proved="documented")
def stood(seen: TrainingLogs, limits: StoodLimits) -> Iterator[Statement]:
    """No log of a run that is not done ends with half an hour of lines that only repeat.

    What watches a job writes on when the job has stopped: heartbeats with a time, and no step
    between them. Lines of an evaluation, of saving or loading are progress; a run whose last step
    is its last one is done; and of one that a line says the end of, that line is told.
    """
    yield from unread(seen)
    told = False
    for log in seen.logs:
        last = next((p for p in reversed(run(log)) if p.step is not None), None)
        if last is None:
            continue
        told = True
        ended = any(hit.severity == "critical" for hit in log.hits)
        if log.rest is not None and not ended and _stands(log, last, log.rest, limits):
            yield _finding(log, last, log.rest)
        else:
            yield Well(f"it has steps up to {last.step:,}")
    if seen.logs and not told:
        yield NotApplicable(why="no steps are printed in a form that is known")


def _stands(log: LogSeen, last: Point, rest: Rest, limits: StoodLimits) -> bool:
    total = _total(last)
    if total is None or (last.step or 0) >= total or rest.line <= (last.line or 0):
        return False
    times = [p.step_ms for p in run(log) if p.step_ms is not None]
    usual = median(times) / 1e3 if times else 0.0
    return rest.seconds >= max(limits.least_s, limits.steps * usual)


def _total(point: Point) -> int | None:
    """Return how many steps the run has, where its line says it."""
    hits = (hit for hit in OF_ALL.finditer(point.text or "") if int(hit["step"]) == point.step)
    return next((int(hit["total"]) for hit in hits), None)


def _finding(log: LogSeen, last: Point, rest: Rest) -> Finding:
    return found(
        "training_hang",
        "warning",
        named(log),
        "{log}: no step after {step} of {total}; what follows repeats itself for {minutes} min",
        quote(log, last),
        Evidence(source=log.name, line=rest.line, text=rest.text, values={"lines": rest.lines}),
        variant="in_log",
        confidence=0.6,
        log=log.name,
        step=f"{last.step:,}",
        total=f"{_total(last):,}",
        minutes=round(rest.seconds / 60),
    )
