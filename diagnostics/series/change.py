"""Find where a series got larger for good: medians, spreads and how well both sides are parted."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from diagnostics.series.middle import deviation, median

# Fewer values than this have no median spread worth the name: their standard deviation counts.
FEW = 8
# A spread below this share of the value is the clock's, not the machine's.
FINEST = 0.002
# How far the medians must be apart, in standard errors; more where there are few values.
APART, APART_FEW = 6.0, 6.0
# The earlier values that a change is measured against; older ones had other conditions.
MOST_BEFORE = 2_000
# A rise that these show no more is over.
LAST = 3
# Between two lengths of the stretch that is tried as the new one.
GROWTH = 1.3


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Medians before and after, the place of the first value after, and how many there are."""

    before: float
    now: float
    at: int
    earlier: int
    recent: int

    @property
    def ratio(self) -> float:
        """Return how many times larger it is."""
        return self.now / self.before if self.before else math.inf


def rise(
    values: Sequence[float], *, ratio: float, recent: int, earlier: int, since: int = 0
) -> Change | None:
    """Return the clearest lasting rise to *ratio* times, of at least the *recent* last values.

    *since* is a place where it may have begun in any case: there values of another time end.

    A rise lasts when most values since are above most before it, up to the last of them. Single
    values, however high, are none.
    """
    found: list[tuple[float, Change]] = []
    known = {len(values) - since} if earlier <= since <= len(values) - recent else set()
    for count in sorted({*_lengths(recent, len(values) - earlier), *known}):
        clear = _clear(values, len(values) - count, ratio)
        if clear is not None and _lasts(values[-count:], clear[1], recent):
            found.append(clear)
    if not found:
        return None
    best = max(found, key=lambda one: one[0])[1]
    at = _began(values, best, earlier, len(values) - recent)
    exact = _clear(values, at, ratio)
    return best if exact is None else exact[1]


def _began(values: Sequence[float], change: Change, first: int, last: int) -> int:
    """Return where the fewest values lie on the wrong side of half the rise."""
    half = (change.before + change.now) / 2
    wrong = sum(value > half for value in values[:first])
    wrong += sum(value <= half for value in values[first:])
    best = (wrong, first)
    for at in range(first, last):
        wrong += 1 if values[at] > half else -1
        best = min(best, (wrong, at + 1))
    return best[1]


def _lengths(least: int, most: int) -> Iterator[int]:
    count = least
    while count <= most:
        yield count
        count = max(count + 1, int(count * GROWTH))


def _clear(values: Sequence[float], at: int, ratio: float) -> tuple[float, Change] | None:
    """Return how clear a rise at *at* is, and the rise, where it is one."""
    old, new = sorted(values[max(at - MOST_BEFORE, 0) : at]), sorted(values[at:])
    before, now = median(old), median(new)
    if now < ratio * before or not _parted(old, new):
        return None
    error = math.sqrt(_spread(old) ** 2 / len(old) + _spread(new) ** 2 / len(new))
    apart = (now - before) / error if error else math.inf
    free = len(old) + len(new) - 2
    if apart < APART + APART_FEW / max(free, 1):
        return None
    return apart, Change(before=before, now=now, at=at, earlier=len(old), recent=len(new))


def _parted(old: Sequence[float], new: Sequence[float]) -> bool:
    """Return whether four in five of *new* are above four in five of *old*, of few all."""
    if len(old) < FEW or len(new) < FEW:
        return new[len(new) // 10] > old[-1 - len(old) // 10]
    return new[len(new) // 5] > old[-1 - len(old) // 5]


def _lasts(since: Sequence[float], change: Change, recent: int) -> bool:
    """Return whether enough values are up by more than half of the rise, and so are the last."""
    half = (change.before + change.now) / 2
    return sum(value > half for value in since) >= recent and median(since[-LAST:]) > half


def _spread(ordered: Sequence[float]) -> float:
    """Return a standard deviation that a few outliers do not move."""
    middle = median(ordered)
    if len(ordered) < FEW:
        mean = sum(ordered) / len(ordered)
        spread = math.sqrt(sum((v - mean) ** 2 for v in ordered) / max(len(ordered) - 1, 1))
    else:
        # A median's error is 1.25 times that of a mean.
        spread = 1.25 * deviation(ordered, middle)
    return max(spread, FINEST * abs(middle))
