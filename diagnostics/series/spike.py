"""Find where a loss jumped above its own course, and whether it came back."""

import math
from collections import deque
from collections.abc import Sequence

import msgspec

from diagnostics.series.middle import deviation, median
from diagnostics.series.point import Point

# The losses before a point that it is compared with.
WINDOW = 100
FEWEST = 2
# With fewer than this the spread is not known, and something else must speak for it.
ENOUGH = 20
# How often the middle of the window is looked at anew.
ANEW = 10
RATIO, LEAST, DEVIATIONS = 1.5, 0.5, 8.0
# A gradient that grew so many times, or so many high steps, speak for a spike among few.
STEEP, SUSTAINED = 10.0, 3
# It is back where the last losses are no higher than this times the course before.
BACK = 1.15


class Spike(msgspec.Struct, frozen=True, kw_only=True):
    """The highest point, the course before, how many steps were high, and how it went on.

    `steep` is how many times the gradient's norm grew, None where it is not printed. `after` is
    how many losses are printed since; `back` is the last of them where the loss came back.
    """

    first: Point
    peak: Point
    before: float
    high: int
    steep: float | None
    after: int
    back: Point | None

    @property
    def certain(self) -> bool:
        """Return whether more than one step, or the gradient, speaks for it."""
        return self.high >= SUSTAINED or (self.steep or 0.0) >= STEEP


def last_spike(points: Sequence[Point]) -> Spike | None:
    """Return the last spike of a run that counts, None where there is none."""
    losses = [p for p in points if p.loss is not None and math.isfinite(p.loss)]
    course: deque[float] = deque(maxlen=WINDOW)
    middle = limit = math.inf
    found: list[tuple[int, float]] = []
    for place, point in enumerate(losses):
        assert point.loss is not None, "only such were taken"
        if len(course) >= FEWEST and (place % ANEW == 0 or len(course) < ENOUGH):
            middle = median(course)
            limit = _limit(course, middle)
        if point.loss > limit:
            found.append((place, middle))
        else:
            course.append(point.loss)
    return _spike(losses, found) if found else None


def _limit(course: Sequence[float], middle: float) -> float:
    """Return the loss above which a point does not belong to the course."""
    if len(course) < ENOUGH:
        # Of few values the largest step between them stands for the spread.
        return max(RATIO * middle, middle + max(LEAST, 3 * (max(course) - min(course))))
    return max(RATIO * middle, middle + max(LEAST, DEVIATIONS * deviation(list(course), middle)))


def _spike(losses: Sequence[Point], found: Sequence[tuple[int, float]]) -> Spike | None:
    """Return what the last high points are, taken together where they lie near each other."""
    places = [found[-1][0]]
    for place, _ in reversed(found[:-1]):
        if places[0] - place > WINDOW:
            break
        places.insert(0, place)
    before = next(middle for place, middle in found if place == places[0])
    first, peak = losses[places[0]], max((losses[p] for p in places), key=lambda p: p.loss or 0.0)
    steep = _steep(losses, places)
    after = losses[places[-1] + 1 :]
    last = median([p.loss for p in after[-3:] if p.loss is not None]) if after else math.inf
    spike = Spike(
        first=first,
        peak=peak,
        before=before,
        high=len(places),
        steep=steep,
        after=len(after),
        back=after[-1] if last <= BACK * before else None,
    )
    return spike if places[0] >= ENOUGH or spike.certain else None


def _steep(losses: Sequence[Point], places: Sequence[int]) -> float | None:
    """Return how many times larger the gradient's norm was around the spike than before."""
    start = places[0]
    old = [p.grad_norm for p in losses[max(start - WINDOW, 0) : start] if p.grad_norm]
    new = [p.grad_norm for p in losses[start : places[-1] + 2] if p.grad_norm]
    if not old or not new or not all(math.isfinite(norm) for norm in (*old, *new)):
        return None
    return max(new) / median(old)
