"""Learn what shapes of lines count for, of which the log has many."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec

from diagnostics.rules.alike import QUIET, Shapes
from diagnostics.rules.knowledge import Knowledge, Plan
from diagnostics.rules.line import LINE_CAP
from diagnostics.rules.search import Counting, Place, Search
from diagnostics.rules.tally import Drawn

# Of lines with the same anchors no more new shapes are learned from a piece; fewer each time from
# those that go on to have more, as lines with addresses do.
MOST_NEW, LEAST_NEW = 24, 6
# A line that tells nothing is soon read: to learn its shape takes as long as to read seventy.
LEAST_SILENT = 1


class Piece(msgspec.Struct, frozen=True):
    """A piece of a log, its lines, these with all digits alike, and the first one's number."""

    text: bytes
    lines: Sequence[bytes]
    zeros: Sequence[bytes]
    first: int


# Counts one line, and returns what its text counts for, and whether it came lately.
Take = Callable[[Place, Plan, Search], tuple[tuple[Counting, ...] | None, bool]]


class Learning:
    """The shapes that are known of one log; how many more are learned depends on what came."""

    def __init__(self, knowledge: Knowledge, search: Take) -> None:
        self._knowledge = knowledge
        self._search = search
        self._learns: dict[int, int] = {}
        self.shapes = Shapes(knowledge.anchors.expressions)

    def learn(self, piece: Piece, more: dict[int, int], search: Search) -> list[Drawn]:
        """Search lines of shapes that are not known, and return those that have numbers.

        *more* are their places in the piece, each with the set of anchors that it holds.
        """
        lines, zeros = piece.lines, piece.zeros
        ends = list(accumulate(map(len, lines)))
        drawn: list[Drawn] = []
        new: Counter[int] = Counter()
        telling: set[int] = set()
        plans = {held: self._knowledge.plan(held) for held in set(more.values())}
        most = {held: self._learns.get(held, MOST_NEW) for held in plans}
        silent = frozenset(self._silent(lines, more, plans, most, search))
        shape_of = self.shapes.get
        for at, held in more.items():
            if at in silent:
                new[held] += 1
                continue
            line, plan, shape = lines[at], plans[held], shape_of(zeros[at])
            if shape is QUIET:
                continue
            if shape is not None and (same := shape.told(line)) is not None:
                # A line before it in this piece has told.
                search.alone()
                same.again(piece.first + at, line)
                drawn += [(at, same.sort)] if same.sort else []
                continue
            counting: tuple[Counting, ...] | None = ()
            searched = plan.searched and not search.for_nothing(plan, line)
            if not searched and shape is None and new[held] >= most[held]:
                # As most lines with addresses: they tell nothing, and no more shapes are learned.
                new[held] += 1
                drawn += [(at, (held, plan.searched))] if plan.numbers else []
                continue
            if searched:
                telling.add(held)
                # Each line before it has an end of one byte.
                start = ends[at] + at - len(line)
                stop = start + min(len(line), LINE_CAP)
                counting, _ = self._search(
                    Place(piece.text, start, stop, piece.first + at), plan, search
                )
            if plan.numbers:
                drawn.append((at, (held, plan.searched)))
            new[held] += shape is None
            if new[held] <= most[held]:
                whole = counting if search.by_shape(plan, line) else None
                self.shapes.add(held, plan, line, whole)
        for held, count in new.items():
            least = LEAST_NEW if held in telling or plans[held].numbers else LEAST_SILENT
            less = max(most[held] // 2, least)
            self._learns[held] = less if count > MOST_NEW else MOST_NEW
        return drawn

    def _silent(
        self,
        lines: Sequence[bytes],
        more: dict[int, int],
        plans: Mapping[int, Plan],
        most: Mapping[int, int],
        search: Search,
    ) -> Iterator[int]:
        """Yield lines that tell nothing and whose shapes are not learned; many are seen at once."""
        of: dict[int, list[int]] = {held: [] for held, plan in plans.items() if not plan.numbers}
        for at, held in more.items():
            if held in of:
                of[held].append(at)
        for held, places in of.items():
            rest = places[most[held] :]
            text = b"\n".join([lines[at] for at in rest])
            if rest and search.for_nothing(plans[held], text):
                yield from rest
