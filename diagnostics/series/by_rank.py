"""What single ranks print of themselves: how long they work, and whose loss is no number first."""

import math
from collections import deque

import msgspec

from diagnostics.series.point import Numbers

QUOTED = 600
# How many of a rank's last steps are kept, and of how many ranks.
LAST_STEPS = 32
MOST_RANKS = 2_048
# Ranks print a step one after another, some a few steps behind the others.
STEPS_AT_ONCE = 16


class RankTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long one rank worked in its last steps, in milliseconds, without waiting for others."""

    rank: int
    work_ms: tuple[float, ...]
    line: int
    text: str


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """The first step in which a rank printed a loss that is no number, and who printed which."""

    step: int
    bad: tuple[int, ...]
    clean: tuple[int, ...]


class ByRank:
    """Takes what lines say of the rank that wrote them, or that a list of times names."""

    def __init__(self) -> None:
        self._work: dict[int, tuple[deque[float], int, str]] = {}
        self._list: tuple[str, int] | None = None
        self._losses: dict[int, dict[int, bool]] = {}
        self._first_bad: int | None = None
        # Of each rank the last step with a loss, and whether that is a finite number.
        self._last: dict[int, tuple[int, bool]] = {}

    def copy(self) -> "ByRank":
        """Return one that can go on without changing this."""
        other = ByRank()
        other._work = {
            rank: (deque(times, LAST_STEPS), line, text)
            for rank, (times, line, text) in self._work.items()
        }
        other._list, other._first_bad = self._list, self._first_bad
        other._last = dict(self._last)
        other._losses = {step: dict(ranks) for step, ranks in self._losses.items()}
        return other

    def take(self, said: Numbers, rank: int, line: int, text: str) -> None:
        """Note how long a rank worked: what is left of a step without synchronisation."""
        if said.step is not None and said.loss is not None:
            self._loss(said.step, rank, said.loss)
        if said.step_ms is not None:
            self._worked(rank, said.step_ms - (said.sync_ms or 0.0), line, text)

    def listed(self, said: Numbers, line: int, text: str) -> bool:
        """Take a line of a list of times, one line a rank; return whether it is one.

        Of a list of which lines were left out nothing is taken: whose it was is not known.
        """
        if said.listed is not None:
            self._list = (said.listed, line)
            return True
        if said.of_rank is None or said.of_rank_ms is None:
            return False
        if self._list is not None and line == self._list[1] + 1:
            self._list = (self._list[0], line)
            if self._list[0] == "forward-compute":
                self._worked(said.of_rank, said.of_rank_ms, line, text)
        return True

    def _worked(self, rank: int, ms: float, line: int, text: str) -> None:
        if rank not in self._work and len(self._work) >= MOST_RANKS:
            return
        known = self._work.get(rank)
        times = known[0] if known else deque[float](maxlen=LAST_STEPS)
        times.append(ms)
        self._work[rank] = (times, line, text[:QUOTED])

    def _loss(self, step: int, rank: int, loss: float) -> None:
        finite = math.isfinite(loss)
        if rank in self._last or len(self._last) < MOST_RANKS:
            self._last[rank] = (step, finite)
        if self._first_bad is not None and step != self._first_bad:
            return
        if step not in self._losses and len(self._losses) >= STEPS_AT_ONCE:
            del self._losses[next(iter(self._losses))]
        ranks = self._losses.setdefault(step, {})
        if len(ranks) < MOST_RANKS:
            ranks.setdefault(rank, finite)
        if not finite and self._first_bad is None:
            self._first_bad = step

    def elsewhere(self) -> Elsewhere | None:
        """Return who printed what in the first step that was bad, None where none was."""
        if self._first_bad is None:
            return None
        ranks = self._losses[self._first_bad]
        return Elsewhere(
            step=self._first_bad,
            bad=tuple(sorted(rank for rank, finite in ranks.items() if not finite)),
            clean=tuple(sorted(rank for rank, finite in ranks.items() if finite)),
        )

    def still(self) -> tuple[int, ...]:
        """Return the ranks whose loss is no number in the step that is printed last."""
        last = max((step for step, _ in self._last.values()), default=0)
        # A rank may be one step behind the others.
        bad = (r for r, (step, finite) in self._last.items() if not finite and step >= last - 1)
        return tuple(sorted(bad))

    def times(self) -> tuple[RankTimes, ...]:
        """Return each rank's last times, where there are several ranks."""
        if len(self._work) < 2:  # noqa: PLR2004 - one alone has none to be compared with
            return ()
        return tuple(
            RankTimes(rank=rank, work_ms=tuple(times), line=line, text=text)
            for rank, (times, line, text) in sorted(self._work.items())
        )
