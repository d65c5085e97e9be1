"""Time that passes only by what is done, so that a replay meets each question at its own time."""

from collections.abc import Iterable


class Clock:
    """Seconds since the walk began: what was slept, and what tools and helpers took.

    Work at the same time runs on branches. Steps are rounded to microseconds, so that the order in
    which tasks come to their turn does not show in the last digit of a sum.
    """

    def __init__(self, passed: float = 0.0) -> None:
        self.passed = passed

    def spend(self, seconds: float) -> None:
        """Let *seconds* pass."""
        self.passed = round(self.passed + seconds, 6)

    def branch(self) -> "Clock":
        """Return a clock that goes on from here on its own."""
        return Clock(self.passed)

    def join(self, branches: Iterable["Clock"]) -> None:
        """Go on when the last branch is done."""
        self.passed = max([self.passed, *(branch.passed for branch in branches)])
