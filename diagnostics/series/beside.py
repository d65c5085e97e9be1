"""What other ranks printed beside the first loss that is no number, in lines that are not read."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from diagnostics.rules import prefix
from diagnostics.rules.line import decoded
from diagnostics.series.by_rank import ByRank, Elsewhere
from diagnostics.series.lines import numbers
from diagnostics.series.waiting import Lines, bad

# So many lines on either side: a rank whose step stands further away is not heard of.
NEAR = 1_024
# Rules find other lines with numbers notable as well; looking at each of them takes time.
MOST_LOOKED_AT = 1_000


class Beside:
    """Keeps the lines around the first loss that is no number, for nearly all of them are thinned.

    With eight ranks in turn each sixteenth line is always of one and the same rank: who else
    printed the step, and what, would not be known.
    """

    def __init__(self) -> None:
        self._before: deque[Lines] = deque()
        self._held = 0
        self._kept: list[tuple[int, bytes]] = []
        self._found = False
        self._room = NEAR
        self._looked = 0

    def leave(self, lines: Lines) -> None:
        """Take lines of which hardly any is read, in their order."""
        if not self._room:
            return
        at = 0
        if not self._found:
            first = self._first(lines)
            self._before.append(lines)
            self._held += len(lines.raws)
            if first is None:
                while self._held - len(self._before[0].raws) >= NEAR:
                    self._held -= len(self._before.popleft().raws)
                return
            self._begin(self._held - len(lines.raws) + first)
            at = first + 1
        after = list(islice(_each([lines]), at, at + self._room))
        self._kept += after
        self._room -= len(after)

    def _first(self, lines: Lines) -> int | None:
        """Return the place of the first loss that is no number."""
        sorts = lines.sorts
        if not sorts[0][1] and sorts.count(sorts[0]) == len(sorts):
            # Nothing is asked of each of them.
            return None
        for place, (_, notable) in enumerate(sorts):
            if notable and self._looked < MOST_LOOKED_AT:
                self._looked += 1
                if bad(lines.raws[place]):
                    return place
        return None

    def _begin(self, place: int) -> None:
        """Keep the line at this place of those that are held, and some before it."""
        self._found = True
        self._kept = list(islice(_each(self._before), max(place - NEAR, 0), place + 1))
        self._before.clear()

    def elsewhere(self, waiting: Iterable[Lines]) -> Elsewhere | None:
        """Return who printed the step, None where no line left and where no rank is known.

        The lines that are *waiting* come next.
        """
        if not (self._before or self._found):
            return None
        whole = self._copy()
        for lines in waiting:
            whole.leave(lines)
        return whole.read()

    def read(self) -> Elsewhere | None:
        """Return who printed the step by the lines that are kept."""
        by_rank = ByRank()
        for number, raw in self._kept:
            text = decoded(raw)
            said, rank = numbers(text), prefix.rank(text)
            if said is not None and rank is not None:
                by_rank.take(said, rank, number, text)
        return by_rank.elsewhere()

    def _copy(self) -> "Beside":
        other = Beside()
        other._before, other._held = self._before.copy(), self._held
        other._kept, other._room = list(self._kept), self._room
        other._found, other._looked = self._found, self._looked
        return other


def _each(parts: Iterable[Lines]) -> Iterator[tuple[int, bytes]]:
    for part in parts:
        yield from zip(part.numbers, part.raws, strict=True)
