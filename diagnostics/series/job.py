"""A run as the document holds it: its curves, its settings, and where something happened."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from diagnostics.series.configuration import Configuration
from diagnostics.series.curve import Curve
from diagnostics.series.point import Point

# The curves of a document, in the order in which they are drawn.
CURVES = (
    *("loss", "grad_norm", "loss_scale", "lr", "step_ms", "rate", "sync_ms", "sync_least_ms"),
    *("gather_ms", "data_ms", "forward_ms", "backward_ms", "bus_gb_s", "served"),
)
MOST = 20_000


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One curve: of the lines that hold it each `every`th was read; a step is null if not printed.

    A number that is not finite stands as "nan", "inf" or "-inf".
    """

    every: int = 1
    step: tuple[int | None, ...] = ()
    value: tuple[float, ...] = ()


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A finding on the curves: its fault, the line that it quotes, and that line's step."""

    fault: str
    severity: str
    line: int
    step: int | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `job` is its id where the scheduler is known, `log` the text that was read.

    `heard` is how many of its `ranks` wrote lines that were looked at.
    """

    job: str | None = None
    log: str | None = None
    framework: str | None = None
    ranks: int | None = None
    heard: int | None = None
    last_step: int | None = None
    stuck: bool | None = None
    settings: Mapping[str, Any] = {}
    marks: tuple[Mark, ...] = ()
    series: Mapping[str, Series] = {}


def job(
    log: str,
    curve: Curve,
    told: Iterable[tuple[str, str, int]],
    most: int = MOST,
    heard: Collection[int] = (),
) -> Job:
    """Return the run of one log; *told* are the fault, severity and line of its findings.

    *heard* are the ranks that wrote something.
    """
    points = _thinned(curve, most)
    at = list(map(attrgetter("step"), points))
    steps = [point.step for point in curve.points if point.step is not None]
    marks = tuple(
        Mark(fault=fault, severity=severity, line=line, step=_step(curve.points, line))
        for fault, severity, line in sorted(set(told), key=lambda one: (one[2], one[0]))
    )
    every = max(curve.every, -(-len(curve.points) // most))
    return Job(
        log=log,
        framework=curve.framework,
        ranks=curve.settings.world or len(curve.ranks) or None,
        heard=len(heard) or None,
        last_step=steps[-1] if steps else None,
        settings=_settings(curve.settings),
        marks=marks,
        series={name: one for name in CURVES if (one := _series(points, at, name, every)).value},
    )


def _thinned(curve: Curve, most: int) -> Sequence[Point]:
    """Return the points at one distance; the curve has its last ones in full."""
    points = curve.points
    if curve.every > 1 or len(points) > most:
        stride = -(-len(points) // most)
        points = points[len(points) % stride :: stride]
    return points


def _series(points: Sequence[Point], at: Sequence[int | None], name: str, every: int) -> Series:
    """Return the curve of one field; *at* are the steps of the points."""
    values = list(map(attrgetter(name), points))
    absent = values.count(None)
    if absent == len(values):
        # Of its dozen names a framework prints a few.
        return Series(every=every)
    if not absent:
        return Series(every=every, step=tuple(at), value=tuple(values))
    have = [(step, value) for step, value in zip(at, values, strict=True) if value is not None]
    steps, told = zip(*have, strict=True)
    return Series(every=every, step=steps, value=told)


def _step(points: Sequence[Point], line: int) -> int | None:
    """Return the step of the point that was printed at, or last before, a line."""
    before = [p for p in points if p.line is not None and p.line <= line and p.step is not None]
    return before[-1].step if before else None


def _settings(settings: Configuration) -> dict[str, Any]:
    said: dict[str, Any] = msgspec.to_builtins(settings)
    for name in ("lines", "heard"):
        said.pop(name, None)
    return {
        name: value
        for name, value in said.items()
        if not isinstance(value, float) or math.isfinite(value)
    }
