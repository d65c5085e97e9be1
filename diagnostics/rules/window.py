"""How much came within some time, at most: the rate that an absolute count does not tell."""

from collections import deque

# A window moves on by its parts: what it holds never came within a longer time than it says.
PARTS = 24


class Window:
    """The most that came within any `seconds` of a log, found in one pass and in constant room.

    Times are seconds of one clock; where it is set back, as by a new boot, another count begins.
    """

    def __init__(self, seconds: float) -> None:
        self._part = seconds / PARTS
        self._parts: deque[list[float]] = deque()
        self._held = self._most = 0.0
        self._last: float | None = None

    @property
    def most(self) -> int:
        """Return it as a whole number, never too many."""
        return int(self._most + 1e-6)

    def add(self, at: float, amount: float, times: int = 1) -> None:
        """Count *amount* at a time, or *times* as much since the last one.

        When the ones in between came is not known: spread evenly, they make the smallest peak.
        """
        last = self._last if self._last is not None else at
        if at < last - self._part:
            self._parts.clear()
            self._held, last = 0.0, at
        at = self._last = max(at, last)
        parts = (at - last) / self._part
        if times == 1 or parts <= 1:
            self._put(at, amount * times)
            return
        share = amount * times / parts
        for back in range(min(int(parts), PARTS), 0, -1):
            self._put(at - (back - 1) * self._part, share)

    def _put(self, at: float, amount: float) -> None:
        slot = at // self._part
        while self._parts and self._parts[0][0] <= slot - PARTS:
            self._held -= self._parts.popleft()[1]
        if self._parts and self._parts[-1][0] >= slot:
            self._parts[-1][1] += amount
        else:
            self._parts.append([slot, amount])
        self._held += amount
        self._most = max(self._most, self._held)
