"""Place the values of a curve on an axis: linear, or by powers of ten where they span many."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from agent.render.language import say

# Curves whose values are told by their size, where one is so many times another.
BY_SIZE = frozenset({"grad_norm", "loss_scale", "lr"})
TIMES = 50.0
# From the one on a label needs no decimals, from the other on it has no room for its digits.
WHOLE, LARGE = 1_000.0, 10_000_000.0

# How a curve is called, and its unit.
TITLES = {
    "loss": ("loss", ""),
    "grad_norm": ("gradient norm", ""),
    "loss_scale": ("loss scale", ""),
    "lr": ("learning rate", ""),
    "step_ms": ("step time", "ms"),
    "rate": ("throughput", "/s"),
    "sync_ms": ("gradient sync, slowest rank", "ms"),
    "sync_least_ms": ("gradient sync, fastest rank", "ms"),
    "gather_ms": ("gathering parameters", "ms"),
    "data_ms": ("wait for data", "ms"),
    "forward_ms": ("forward", "ms"),
    "backward_ms": ("backward", "ms"),
    "bus_gb_s": ("bus bandwidth", "GB/s"),
    "served": ("generated tokens", "a second"),
}


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """Where values lie between `low` and `high`; `by_size` where distances are ratios."""

    low: float
    high: float
    by_size: bool = False

    def place(self, value: float) -> float:
        """Return where a value lies: 0 at the bottom, 1 at the top."""
        if not self.by_size:
            low, high, at = self.low, self.high, value
        else:
            low, high, at = math.log10(self.low), math.log10(self.high), math.log10(value)
        # Halves, so that the distance of two numbers is always one.
        wide = high / 2 - low / 2
        return 0.5 if wide <= 0 else min(max((at / 2 - low / 2) / wide, 0.0), 1.0)


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One curve of a document made ready to draw; `bad` are the places of what is no number."""

    name: str
    steps: tuple[int | None, ...]
    values: tuple[float | None, ...]
    bad: tuple[int, ...]
    axis: Axis

    @property
    def title(self) -> str:
        """Return the curve's name in words."""
        return say(TITLES.get(self.name, (self.name, ""))[0])

    @property
    def unit(self) -> str:
        """Return the unit of its values with a space before it."""
        unit = TITLES.get(self.name, ("", ""))[1]
        return f" {say(unit)}" if unit else ""

    @property
    def last(self) -> float | None:
        """Return the last value that is a number."""
        return next((v for v in reversed(self.values) if v is not None), None)

    def at(self, place: int) -> str:
        """Return how a place on the axis of steps is called."""
        step = self.steps[place]
        return f"{place + 1:,}." if step is None else f"{step:,}"


def curves(run: dict[str, Any]) -> list[Curve]:
    """Return what can be drawn of one run of a document, in its order."""
    return [
        made
        for name, series in run["series"].items()
        if (made := _curve(name, series["step"], series["value"])) is not None
    ]


def _curve(name: str, steps: Sequence[int | None], values: Sequence[Any]) -> Curve | None:
    numbers = [_number(value) for value in values]
    finite = [value for value in numbers if value is not None]
    if len(values) < 2 or not finite:  # noqa: PLR2004 - one point is no curve
        return None
    low, high = min(finite), max(finite)
    by_size = name in BY_SIZE and low > 0 and high / low >= TIMES
    return Curve(
        name=name,
        steps=tuple(steps),
        values=tuple(numbers),
        bad=tuple(place for place, value in enumerate(numbers) if value is None),
        axis=Axis(low=low, high=high, by_size=by_size),
    )


def _number(value: Any) -> float | None:  # noqa: ANN401 - a number of a document, or its word
    number = float(value)
    return number if math.isfinite(number) else None


def short(value: float) -> str:
    """Return a value as a label: four digits, thousands parted."""
    return f"{value:,.0f}" if WHOLE <= abs(value) < LARGE else f"{value:.4g}"


def place_of(curve: Curve, step: int | None) -> int | None:
    """Return the place of the last point up to a step, None where the curve does not reach it."""
    known = [(place, at) for place, at in enumerate(curve.steps) if at is not None]
    if step is None or not known or not known[0][1] <= step <= known[-1][1]:
        return None
    return max(place for place, at in known if at <= step)
