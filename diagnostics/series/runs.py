"""What the runs of a node took at their beginning: the steps that later ones are compared with.

A log of weeks is read from its last MiB, and a daemon restarts. The first steps of each run are
kept, and of runs that wrote the same log under another number their middle values.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Observation
from diagnostics.series import baseline
from diagnostics.series.curve import Curve
from diagnostics.series.middle import median
from diagnostics.series.point import Point

# The first steps connect, compile and load; then so many are kept. Fewer are a guess.
FIRST, KEPT, ENOUGH = 5, 100, 50
MOST_RUNS, MOST_NAMES, MOST_EARLIER = 64, 256, 8

# Framework, batch, ranks, how the model is parted over them, and precision; "" is not known.
Alike = tuple[str, ...]
Milliseconds = Annotated[float, msgspec.Meta(ge=0)]


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One step of a run: what it took, its gradient synchronisation, and the rate printed."""

    step: int
    step_ms: Milliseconds | None = None
    sync_ms: Milliseconds | None = None
    rate: Milliseconds | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The first steps of a run, oldest first, and by what it is known again.

    `began` is its first step that was seen, `newest` the last one; `alike` says what makes times
    comparable.
    """

    job: str
    log: str
    alike: Alike
    began: int
    newest: int
    steps: tuple[Step, ...] = ()

    @property
    def provisional(self) -> bool:
        """Return whether too few steps are known to be sure of them."""
        return len(self.steps) < ENOUGH


class Usual(msgspec.Struct, frozen=True, kw_only=True):
    """The middle values of one whole baseline, in milliseconds; `share` is that of the sync."""

    step_ms: float | None = None
    share: float | None = None
    rate: float | None = None


class RunsBefore(Observation, frozen=True, kw_only=True):
    """The runs that go on here by their log's path, and earlier ones by name; `source` keeps them.

    A walk on its own remembers nothing: both are empty.
    """

    source: str = ""
    runs: Mapping[str, Run] = {}
    names: Mapping[str, tuple[Usual, ...]] = {}

    def of(self, log: str, curve: Curve) -> Run | None:
        """Return what is known of the run that a log is of, None where it is another run's."""
        run = self.runs.get(path_of(log))
        first = _first(curve)
        if run is None or first is None or first < run.began:
            return None
        return run if _fits(run.alike, alike(curve)) else None

    def others(self, run: Run) -> tuple[Usual, ...]:
        """Return what earlier runs of the same name, ranks and framework took."""
        return self.names.get(name_of(run.log, run.alike), ())


def path_of(log: str) -> str:
    """Return the path of a log of which only the end may have been read."""
    return log.partition(" from byte ")[0]


def alike(curve: Curve) -> Alike:
    """Return what must be the same for times to be comparable."""
    settings = curve.settings
    batch = next((p.batch for p in reversed(curve.points) if p.batch is not None), None)
    parts = (settings.world, settings.tensor, settings.pipeline, settings.data, settings.context)
    told = (curve.framework, batch, *parts, settings.precision)
    return tuple(str(part or "") for part in told)


def _fits(one: Alike, other: Alike) -> bool:
    """Return whether nothing differs: what stood at the beginning of a log may be out of sight."""
    return all(not (a and b) or a == b for a, b in zip(one, other, strict=False))


def name_of(log: str, kind: Alike) -> str:
    """Return how runs like this one are called, whatever the job's number: `train-#.out ddp/64`."""
    return f"{re.sub(r'[0-9]+', '#', path_of(log))} {'/'.join(kind)}"


def learned(before: Run | None, job: str, log: str, curve: Curve) -> Run | None:
    """Return what is known of a run after one more look at its log, None where it has no steps.

    A run that begins anew, or differs in what makes times comparable, is another one.
    """
    points = [p for p in baseline.since_start(curve.points) if p.step is not None]
    if not points:
        return before
    first, last, kind = points[0].step or 0, points[-1].step or 0, alike(curve)
    if before is None or not _goes_on(before, job, kind, first, last):
        before = Run(job=job, log=path_of(log), alike=kind, began=first, newest=first)
    run = msgspec.structs.replace(
        before, alike=tuple(a or b for a, b in zip(before.alike, kind, strict=True))
    )
    steps = run.steps
    if len(steps) < KEPT:
        since = steps[-1].step if steps else run.began + FIRST - 1
        steps = (*steps, *_steps(points, since))[:KEPT]
    return msgspec.structs.replace(run, newest=last, steps=steps)


def _goes_on(run: Run, job: str, kind: Alike, first: int, last: int) -> bool:
    """Return whether it is the run that is known; after a crash it goes on at a checkpoint."""
    if run.job != job or first < run.began or not _fits(run.alike, kind):
        return False
    return last >= run.newest or first > run.began + FIRST


def chained(logs: Sequence[tuple[str, Curve]]) -> RunsBefore:
    """Return what went before each log that goes on where another one ends, as chained jobs do.

    A run that goes on at a checkpoint may repeat the last steps of the log before it.
    """
    found: dict[str, Run] = {}
    for log, curve in logs:
        first = _first(curve)
        for other, before in logs:
            points = [p for p in baseline.alike(before.points) if p.step is not None]
            if first is None or not points or not _fits(alike(before), alike(curve)):
                continue
            began, last = points[0].step or 0, points[-1].step or 0
            every = max((last - began) // max(len(points) - 1, 1), 1)
            if began < first <= last + 2 * every and other != log:
                steps = [step for step in _steps(points, began) if step.step < first]
                found[log] = Run(
                    job="",
                    log=other,
                    alike=alike(curve),
                    began=began,
                    newest=last,
                    steps=tuple(steps[-KEPT:]),
                )
    return RunsBefore(runs=found)


def usual(run: Run) -> Usual:
    """Return the middle values of a run's first steps."""
    times = [s.step_ms for s in run.steps if s.step_ms]
    shares = [s.sync_ms / s.step_ms for s in run.steps if s.step_ms and s.sync_ms is not None]
    rates = [s.rate for s in run.steps if s.rate]
    return Usual(
        step_ms=median(times) if times else None,
        share=median(shares) if shares else None,
        rate=median(rates) if rates else None,
    )


def prefixed(run: Run | None, points: Sequence[Point]) -> list[Point]:
    """Return the points with the run's own first steps before them, where they lack those."""
    first = next((p.step for p in points if p.step is not None), None)
    if run is None or first is None:
        return list(points)
    batch = next((p.batch for p in reversed(points) if p.batch is not None), None)
    kept = [
        Point(step=s.step, step_ms=s.step_ms, sync_ms=s.sync_ms, rate=s.rate, batch=batch)
        for s in run.steps
        if s.step < first
    ]
    return [*kept, *points]


def _first(curve: Curve) -> int | None:
    return next((p.step for p in baseline.since_start(curve.points) if p.step is not None), None)


def _steps(points: Sequence[Point], since: int) -> Iterator[Step]:
    for point in points:
        times = (point.step_ms, point.sync_ms, point.rate)
        if point.step is not None and point.step > since and any(times):
            known = (v if v is None or math.isfinite(v) else None for v in times)
            yield Step(point.step, *known)
