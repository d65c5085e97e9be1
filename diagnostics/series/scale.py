"""Find where a loss scale was lowered step after step."""

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import lt

import msgspec

from diagnostics.series.point import Point

# Between two steps that lower the scale, one or two may pass.
NEAR = 2


class Fall(msgspec.Struct, frozen=True, kw_only=True):
    """A scale that fell: the points where it began and ended, how often and how far.

    `halved` is how many halvings lie between. `learnt` is True where a finite loss stands before
    it, or its step is not among the first: then it is no search for the scale to begin with.
    `on` is True where it is still falling in the last point.
    """

    first: Point
    last: Point
    times: int
    started: float
    ended: float
    learnt: bool
    on: bool

    @property
    def halved(self) -> float:
        """Return how many times it was halved."""
        return math.log2(self.started / self.ended) if self.ended else math.inf


# The search for a scale takes one step for each halving, from 2 ** 32 at most.
SEARCH_STEPS = 40
LOSSES = 3


def falls(points: Sequence[Point]) -> list[Fall]:
    """Return each stretch in which the scale only fell, in their order."""
    found: list[Fall] = []
    scales = [point.loss_scale for point in points if point.loss_scale is not None]
    if not any(map(lt, scales[1:], scales)):
        # In most runs none was ever lowered.
        return found
    scaled = [(place, point) for place, point in enumerate(points) if point.loss_scale is not None]
    # How many finite losses stand before each point; counted once, as there can be many falls.
    losses = list(accumulate(map(_finite, points), initial=0))
    run: list[tuple[int, Point]] = []
    previous: tuple[int, Point] | None = None
    for one in scaled:
        if previous is not None and _scale(one) < _scale(previous):
            if not run or one[0] - run[-1][0] > NEAR:
                found += _fall(losses, run)
                run = [previous]
            run.append(one)
        elif previous is not None and _scale(one) > _scale(previous):
            found += _fall(losses, run)
            run = []
        previous = one
    return found + _fall(losses, run)


def _scale(one: tuple[int, Point]) -> float:
    return one[1].loss_scale or 0.0


def _finite(point: Point) -> bool:
    return point.loss is not None and math.isfinite(point.loss)


def _fall(losses: Sequence[int], run: Sequence[tuple[int, Point]]) -> list[Fall]:
    if not run:
        return []
    first, last = run[1], run[-1]
    before, step = losses[first[0]], first[1].step
    return [
        Fall(
            first=first[1],
            last=last[1],
            times=len(run) - 1,
            started=_scale(run[0]),
            ended=_scale(last),
            learnt=before >= LOSSES
            if step is None
            else step > SEARCH_STEPS or before > SEARCH_STEPS,
            # One more than there are points.
            on=len(losses) - 2 - last[0] <= NEAR,
        )
    ]
