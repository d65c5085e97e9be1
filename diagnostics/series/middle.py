"""The middle of some values, and how far they lie around it."""

from collections.abc import Sequence


def median(values: Sequence[float]) -> float:
    """Return the middle value; the module `statistics` would cost each start 10 ms."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def deviation(values: Sequence[float], middle: float) -> float:
    """Return the standard deviation that the median distance from *middle* stands for."""
    return 1.4826 * median([abs(value - middle) for value in values])
