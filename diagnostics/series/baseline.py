"""Compare the last points of a run with the run's own earlier ones."""

from collections.abc import Callable, Sequence
from operator import attrgetter, gt
from typing import Any

import msgspec

from diagnostics.series import change
from diagnostics.series.change import Change
from diagnostics.series.middle import median
from diagnostics.series.point import Point

# Fewer earlier points than this are no baseline,
EARLIER = 20
# but where so many seconds of work were slow, as many before it are enough.
LONG_S, BEFORE_S = 180.0, 20.0
FEWEST, FEWEST_EARLIER = 2, 3
# A step as long as this is the mean of many passes, and varies less.
MEANS_S = 60.0


class Grown(msgspec.Struct, frozen=True, kw_only=True):
    """A lasting rise of one value, and the first point that has it."""

    change: Change
    since: Point


def since_start(points: Sequence[Point]) -> list[Point]:
    """Return the points since the step number last fell: a restart can change all."""
    steps: list[Any] = list(map(attrgetter("step"), points))
    places: Sequence[int] = range(len(steps))
    if None in steps:
        places = [place for place, step in enumerate(steps) if step is not None]
        steps = [step for step in steps if step is not None]
    fell = list(map(gt, steps, steps[1:]))
    start = places[len(fell) - fell[::-1].index(True)] if True in fell else 0
    return list(points[start:])


def alike(points: Sequence[Point]) -> list[Point]:
    """Return the points since the last start that have the last batch size: a ramp makes longer."""
    run = since_start(points)
    batch = next((point.batch for point in reversed(run) if point.batch is not None), None)
    return [point for point in run if point.batch in (None, batch)]


def grown(
    points: Sequence[Point],
    value: Callable[[Point], float | None],
    *,
    ratio: float,
    recent: int,
    seconds: Callable[[Point], float] | None = None,
) -> Grown | None:
    """Return how *value* rose for good in a run, None where it did not.

    It lasts for the *recent* last points and is compared with 20 earlier ones at least. Where the
    points' *seconds* are given, three slow minutes are enough in a log that has fewer.
    """
    timed = [(point, v) for point in points if (v := value(point)) is not None]
    values = [v for _, v in timed]
    least, earlier = recent, EARLIER
    if seconds is not None and timed and len(timed) < EARLIER + recent:
        took = [seconds(point) for point, _ in timed]
        few = FEWEST if median(took) >= MEANS_S else FEWEST + 1
        # Two slow ones in a row are more likely by chance where there are many.
        least = min(recent, max(few, _until(took[::-1], LONG_S), len(timed) // 5 + 1))
        earlier = min(EARLIER, max(FEWEST_EARLIER, _until(took, BEFORE_S)))
    # Steps that are remembered from another time stand in no line of this log.
    since = next((at for at, (point, _) in enumerate(timed) if point.line is not None), 0)
    found = change.rise(values, ratio=ratio, recent=least, earlier=earlier, since=since)
    return None if found is None else Grown(change=found, since=timed[found.at][0])


def _until(seconds: Sequence[float], enough: float) -> int:
    """Return how many of the first points make so many seconds, one more than all if none do."""
    total = 0.0
    for place, one in enumerate(seconds, start=1):
        total += one
        if total >= enough:
            return place
    return len(seconds) + 1
