"""Lines that differ in digits that tell nothing: they count for the same, and are searched once.

What a line counts for depends on its digits only where a rank or a name is read, and where an
expression that is looked for asks for a digit. All others may be as they are.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from diagnostics.rules import prefix
from diagnostics.rules.digits import DIGIT, asked
from diagnostics.rules.knowledge import Plan
from diagnostics.rules.rule import Rule, filled
from diagnostics.rules.search import Counting
from diagnostics.series.curve import Sort

# Digits are all alike; what they make a line count for is looked up by those that tell.
ZEROS = bytes.maketrans(b"123456789", b"000000000")
MOST_SHAPES = 8_192
LONGEST = 1_000
MOST_SPANS = 64
# A time stands in the first bytes of a line.
STAMPED = 64

# A line with numbers, by its place in the piece.
Drawn = tuple[int, Sort]
Span = tuple[int, int]


class Same:
    """What lines count for that differ in nothing that tells; `times` are not counted yet."""

    __slots__ = ("counting", "last", "sort", "times")

    def __init__(self, held: int, plan: Plan, counting: tuple[Counting, ...]) -> None:
        self.sort: Sort | None = (held, plan.searched) if plan.numbers else None
        self.counting = counting
        self.times = self.last = 0


class Shape:
    """Lines that are equal but for digits, by those digits that tell.

    Where none does, `only` is what all of them count for.
    """

    __slots__ = ("only", "same", "spans", "tell")

    def __init__(self) -> None:
        self.only: Same | None = None
        self.spans: frozenset[Span] = frozenset()
        self.tell: Callable[[bytes], Any] = itemgetter(slice(0, 0))
        self.same: dict[Any, Same] = {}

    def widen(self, spans: frozenset[Span]) -> None:
        """Look at these digits too."""
        if spans <= self.spans:
            return
        self.spans |= spans
        self.tell = itemgetter(*(slice(*span) for span in sorted(self.spans)))
        self.same.clear()
        self.only = None

    def add(self, line: bytes, same: Same) -> None:
        """Note what a line of this shape counts for."""
        self.same[self.tell(line)] = same
        self.only = None if self.spans else same


# Lines of this shape hold no anchor whatever their digits are.
QUIET = Shape()


class Tally:
    """The lines of one piece, by their places: what is counted, and what has to be searched.

    Lines of a shape in which no digit tells are not looked at one by one: of short lines a log of
    a gigabyte has fifty million.
    """

    def __init__(self, shapes: Sequence[Shape | None], lines: Sequence[bytes]) -> None:
        self.counted: list[Same] = []
        self.more: list[int] = []
        self._drawn: list[Drawn] = []
        times = Counter(shapes)
        only = {
            shape: same for shape in times if shape is not None and (same := shape.only) is not None
        }
        last = dict(zip(shapes, range(len(shapes)), strict=True))
        for key, same in only.items():
            same.times, same.last = times[key], last[key]
            self.counted.append(same)
        if len(only) + (QUIET in times) < len(times):
            for at, shape in enumerate(shapes):
                if shape not in only and shape is not QUIET:
                    self._take(at, shape, lines[at])
        sorts: dict[Shape | None, Sort] = {
            shape: same.sort for shape, same in only.items() if same.sort
        }
        self._sorts = list(map(sorts.get, shapes)) if sorts else []

    def _take(self, at: int, shape: Shape | None, line: bytes) -> None:
        same = None if shape is None else shape.same.get(shape.tell(line))
        if same is None:
            self.more.append(at)
            return
        if not same.times:
            self.counted.append(same)
        same.times += 1
        same.last = at
        if same.sort:
            self._drawn.append((at, same.sort))

    def drawn(self, learned: Sequence[Drawn]) -> tuple[Sequence[int], list[Sort]]:
        """Return the places of the lines with numbers, and their sorts; some were *learned*."""
        sorts = self._sorts
        if sorts and not (learned or self._drawn) and None not in sorts:
            return range(len(sorts)), [sort for sort in sorts if sort]
        drawn = [(at, sort) for at, sort in enumerate(sorts) if sort]
        if learned or self._drawn:
            drawn = sorted([*drawn, *self._drawn, *learned])
        return [at for at, _ in drawn], [sort for _, sort in drawn]

    def drop(self) -> None:
        """Count nothing: the lines are read one by one."""
        for same in self.counted:
            same.times = 0

    def count(self, lines: Sequence[bytes], first: int) -> None:
        """Count the lines; *first* is the number of the first of the piece."""
        for same in self.counted:
            for one in same.counting:
                one.again(first + same.last, lines[same.last][:STAMPED], same.times)
            same.times = 0


class Shapes:
    """The shapes of lines that came lately, by their text with all digits alike.

    *anchors* are all that are looked for.
    """

    def __init__(self, anchors: Sequence[str], most: int = MOST_SHAPES) -> None:
        self._most = most
        self._room = most
        self._known: dict[bytes, Shape | None] = {}
        runs = [asked(anchor) for anchor in anchors]
        self._anywhere = any(run is None for run in runs)
        self._asked = _digits(one for run in runs if run for one in run)
        self.get = self._known.get

    def add(
        self, held: int, plan: Plan, line: bytes, counting: tuple[Counting, ...] | None
    ) -> None:
        """Note what a line counts for; None where another of its text can count for more."""
        if len(line) > LONGEST or self._anywhere:
            return
        self._room -= 1
        if self._room < 0:
            self._known.clear()
            self._room = self._most
        key = line.translate(ZEROS)
        spans = self._spans(plan, line, key)
        known = self._known.get(key)
        if counting is None or spans is None:
            self._known[key] = None
        elif not (held or spans or known):
            self._known[key] = QUIET
        elif known or key not in self._known:
            shape = self._known[key] = known or Shape()
            shape.widen(spans)
            shape.add(line, Same(held, plan, counting))

    def _spans(self, plan: Plan, line: bytes, key: bytes) -> frozenset[Span] | None:
        """Return where digits tell in lines of one shape; None where all can."""
        text = key.lower().decode("latin-1")
        found = set(_places(self._asked, text))
        if plan.rules or plan.ends:
            told = told_by(plan, line, text)
            if told is None:
                return None
            found |= told
        return frozenset(found) if len(found) <= MOST_SPANS else None


def told_by(plan: Plan, line: bytes, zeros: str) -> set[Span] | None:
    """Return where digits tell what a line counts for; *zeros* is it with its digits all alike.

    None where all can. Rules for the kernel are left out: no job's line is its.
    """
    if not line.isascii() or plan.ends:
        return None
    text = line.decode()
    found = set(prefix.spans(text))
    for rule in plan.rules:
        runs = asked(rule.pattern)
        if runs is None:
            return None
        found.update(_places(_digits(runs), zeros), _named(rule, text))
    return found


def _digits(runs: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return where in each run its digits are."""
    return {run: tuple(at for at, one in enumerate(run) if one == DIGIT) for run in runs}


def _places(asked_for: Mapping[str, tuple[int, ...]], zeros: str) -> Iterator[Span]:
    """Yield each digit that stands where an expression asks for one."""
    for run, digits in asked_for.items():
        if run not in zeros:
            continue
        at = zeros.find(run)
        while at >= 0:
            yield from ((at + digit, at + digit + 1) for digit in digits)
            at = zeros.find(run, at + 1)


def _named(rule: Rule, text: str) -> Iterator[Span]:
    """Yield where the rank and the name stand."""
    if match := rule.match(text):
        told = (match.span(field) for field in rule.fields if _tells(rule, field))
        yield from (span for span in told if span[0] >= 0)


def _tells(rule: Rule, field: str) -> bool:
    return field == "rank" or field in filled(rule.named)
