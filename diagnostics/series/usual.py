"""What is usual for a rate of this node: the means of its hours, and the last one against them.

Some rates have no limit that holds for all nodes: how long a server takes, how often a link repeats
a packet. A node is compared with itself then, by whole hours, so that a moment is no news.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from diagnostics.series.middle import deviation, median

HOUR = 3600.0
# A week is kept; fewer hours than the first say nothing, fewer than the second are a guess.
KEPT, LEAST, ENOUGH = 168, 6, 24
# A mean of fewer values than this is no hour's.
VALUES = 10
MOST_NAMES = 1_024
# So many deviations away from the middle is no chance.
DEVIATIONS = 6.0


# What is taken of a node, by the names of `Before.usual`; the part's name stands behind.
RTT, WAIT, REPLAYS = "nfs_rtt_ms ", "disk_wait_ms ", "replays_per_s "
# The counter of a port stands before it.
PER_S = "_per_s "


class Usual(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of the last whole hour; middle and deviation of the `hours` before it."""

    lately: float
    middle: float
    deviation: float
    hours: int

    @property
    def provisional(self) -> bool:
        """Return whether less than a day is known."""
        return self.hours < ENOUGH

    def above(self, factor: float, floor: float) -> bool:
        """Return whether the last hour was *factor* times the usual, and no chance."""
        far = self.lately > self.middle + DEVIATIONS * self.deviation
        return far and self.lately > factor * self.middle and self.lately >= floor


def usual(hours: Sequence[float]) -> Usual | None:
    """Return what the means of hours say, oldest first; None where they are too few."""
    *before, lately = hours or (0.0,)
    if len(before) < LEAST:
        return None
    middle = median(before)
    spread = deviation(before, middle)
    return Usual(lately=lately, middle=middle, deviation=spread, hours=len(before))


class Hours:
    """The hours of all rates that were taken: feed it values, and take what it has."""

    def __init__(self, kept: Mapping[str, Sequence[float]] | None = None) -> None:
        self.means: dict[str, tuple[float, ...]] = {
            name: tuple(means)[-KEPT:] for name, means in list((kept or {}).items())[:MOST_NAMES]
        }
        self._open: dict[str, list[float]] = {}
        self._hour: int | None = None

    def take(self, values: Mapping[str, float], at: float) -> bool:
        """Take the rates of now, in seconds of any clock; return whether an hour has ended."""
        hour, ended = int(at // HOUR), False
        if self._hour is not None and hour != self._hour:
            ended = any(list(self._close()))
        self._hour = hour
        for name, value in values.items():
            if name in self._open or len(self._open) < MOST_NAMES:
                self._open.setdefault(name, []).append(value)
        return ended

    def _close(self) -> Iterator[bool]:
        for name, values in self._open.items():
            if len(values) < VALUES:
                continue
            if name not in self.means and len(self.means) >= MOST_NAMES:
                continue
            mean = sum(values) / len(values)
            self.means[name] = (*self.means.get(name, ()), mean)[-KEPT:]
            yield True
        self._open.clear()
