"""Counters as rates: what rose between readings, a minute's and an hour's worth of them."""

from collections import deque
from collections.abc import Iterator, Mapping

import msgspec

READINGS = 6
HOUR_S, STEP_S = 3600.0, 60.0


class Rises(msgspec.Struct, frozen=True, kw_only=True):
    """What rose of one thing's counters; one that did not rise is absent.

    `per_s` are the rates of the last readings in events a second, newest last. `hour` is by how
    much each rose within the last hour, or since it has been watched where that is less.
    """

    name: str
    per_s: Mapping[str, tuple[float, ...]] = {}
    hour: Mapping[str, int] = {}

    def steadily(self, counter: str, readings: int) -> float:
        """Return the least rate of the last *readings*; 0 where one of them, or all, saw none."""
        rates = self.per_s.get(counter, ())
        return min(rates[-readings:], default=0.0)


class _Kept:
    """The counters of one thing: the last values, the last rates, and an hour in steps."""

    def __init__(self, values: Mapping[str, int], at: float) -> None:
        self.values = dict(values)
        self.at = at
        self.rates: deque[dict[str, float]] = deque(maxlen=READINGS)
        self.steps: deque[tuple[float, dict[str, int]]] = deque()

    def take(self, values: Mapping[str, int], at: float) -> None:
        passed = at - self.at
        # A value below the one before was set to zero in between, by a reset: nobody knows more.
        rose = {
            name: more
            for name, value in values.items()
            if (more := value - self.values.get(name, value)) > 0
        }
        self.values, self.at = dict(values), at
        if passed > 0:
            self.rates.append({name: more / passed for name, more in rose.items()})
        if not self.steps or at - self.steps[-1][0] >= STEP_S:
            self.steps.append((at, {}))
        step = self.steps[-1][1]
        for name, more in rose.items():
            step[name] = step.get(name, 0) + more
        while at - self.steps[0][0] >= HOUR_S:
            self.steps.popleft()

    def rises(self, name: str) -> Rises:
        counters = dict.fromkeys(c for rates in self.rates for c in rates)
        hour: dict[str, int] = {}
        for _, step in self.steps:
            for counter, more in step.items():
                hour[counter] = hour.get(counter, 0) + more
        per_s = {c: tuple(round(r.get(c, 0.0), 3) for r in self.rates) for c in counters}
        return Rises(name=name, per_s=per_s, hour=hour)


class Rising:
    """Feed it the counters of several things, reading by reading."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._began: float | None = None
        self._last: tuple[float, float] = (0.0, 0.0)

    @property
    def begun(self) -> bool:
        """Return whether there was a reading before."""
        return self._began is not None

    @property
    def reading_s(self) -> float:
        """Return the seconds between the last two readings."""
        return round(self._last[1] - self._last[0], 3)

    @property
    def watched_s(self) -> float:
        """Return the seconds since the first reading."""
        return round(self._last[1] - (self._began or 0.0), 3)

    def take(self, values: Mapping[str, Mapping[str, int]], at: float) -> None:
        """Take what all counters are at *at*, monotonic seconds; what is absent is forgotten."""
        if self._began is None:
            self._began, self._last = at, (at, at)
        self._last = (self._last[1], at)
        self._kept = {name: kept for name, kept in self._kept.items() if name in values}
        for name, counters in values.items():
            if name in self._kept:
                self._kept[name].take(counters, at)
            else:
                self._kept[name] = _Kept(counters, at)

    def rises(self) -> Iterator[Rises]:
        """Yield what rose, in the order in which things were first seen."""
        return (kept.rises(name) for name, kept in self._kept.items())
