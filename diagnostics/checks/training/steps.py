"""What the checks of a run's numbers share: its steps, and how a step is named and quoted."""

import math
from collections.abc import Sequence

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from diagnostics.finding import Evidence
from diagnostics.rules.seen import LogSeen
from diagnostics.series import baseline
from diagnostics.series.point import Point
from diagnostics.series.runs import Run, RunsBefore, prefixed, usual


def named(log: LogSeen) -> Subject:
    """Return the log as the subject: its numbers are of the whole job."""
    return Subject(kind="log", name=log.name, job=log.job)


def run(log: LogSeen) -> list[Point]:
    """Return the steps since the run last started."""
    return baseline.since_start(log.curve.points)


def alike(log: LogSeen) -> list[Point]:
    """Return those of them whose times can be compared."""
    return baseline.alike(log.curve.points)


def kept(log: LogSeen, before: RunsBefore | Missing) -> Run | None:
    """Return what is remembered of the run, where its log shows its beginning no more."""
    run = None if isinstance(before, Missing) else before.of(log.name, log.curve)
    first = next((p.step for p in alike(log) if p.step is not None), None)
    remembers = run is not None and first is not None and any(s.step < first for s in run.steps)
    return run if remembers else None


def whole(log: LogSeen, run: Run | None) -> list[Point]:
    """Return the steps whose times can be compared, with those that are remembered before them."""
    return prefixed(run, alike(log))


def remembered(run: Run | None, before: RunsBefore | Missing) -> tuple[Evidence, ...]:
    """Return what the agent keeps of a run as evidence, nothing where it keeps nothing."""
    if run is None or isinstance(before, Missing):
        return ()
    told = {name: v for name, v in msgspec.structs.asdict(usual(run)).items() if v is not None}
    values = {"steps": len(run.steps), "provisional": run.provisional, **told}
    return (Evidence(source=before.source or run.log, values=values),)


def at(point: Point) -> str:
    """Return how a sentence names a point."""
    return f"line {point.line}" if point.step is None else f"step {point.step:,}"


def quote(log: LogSeen, point: Point, **values: float | None) -> Evidence:
    """Return the line of a point as evidence."""
    return Evidence(
        source=log.name,
        line=point.line,
        text=point.text,
        values={name: value for name, value in values.items() if value is not None},
    )


def finite(value: float | None) -> bool:
    """Return whether there is a value, and it is a number."""
    return value is not None and math.isfinite(value)


def bad(value: float | None) -> bool:
    """Return whether there is a value, and it is NaN or infinite."""
    return value is not None and not math.isfinite(value)


def trailing(points: Sequence[Point], flags: Sequence[bool]) -> list[Point]:
    """Return the last points for which *flags* hold without a break."""
    taken: list[Point] = []
    for point, flag in zip(reversed(points), reversed(flags), strict=True):
        if not flag:
            break
        taken.append(point)
    return taken[::-1]
