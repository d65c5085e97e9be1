"""Compare the last points of a run with the run's own earlier ones."""

from collections.abc import Callable, Sequence

import msgspec

from diagnostics.series.curve import Point

# Fewer earlier points than this are no baseline.
EARLIER = 20


class Rise(msgspec.Struct, frozen=True, kw_only=True):
    """Medians before and now, the least of the last points, and how many points each side has."""

    before: float
    now: float
    least: float
    earlier: int
    recent: int


def median(values: Sequence[float]) -> float:
    """Return the middle value; the module `statistics` would cost each start 10 ms."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def last_run(points: Sequence[Point]) -> list[Point]:
    """Return the points since the step number last fell, of the last point's batch size.

    A restart can change model, nodes and sequence length; a batch ramp makes steps longer.
    """
    run: list[Point] = []
    for point in reversed(points):
        if (
            run
            and None not in (run[-1].step, point.step)
            and (point.step or 0) > (run[-1].step or 0)
        ):
            break
        run.append(point)
    return [point for point in reversed(run) if point.batch == run[0].batch]


def rise(
    points: Sequence[Point], value: Callable[[Point], float | None], recent: int
) -> Rise | None:
    """Return how *value* of the last *recent* points stands to that of all earlier ones."""
    values = [v for point in points if (v := value(point)) is not None]
    if len(values) < EARLIER + recent:
        return None
    last = values[-recent:]
    return Rise(
        before=median(values[:-recent]),
        now=median(last),
        least=min(last),
        earlier=len(values) - recent,
        recent=recent,
    )
