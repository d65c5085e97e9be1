"""Lines that differ in digits that tell nothing: they count for the same, and are searched once.

What a line counts for depends on its digits only where a rank or a name is read, and where an
expression that is looked for asks for a digit. All others may be as they are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from diagnostics.rules import prefix
from diagnostics.rules.digits import DIGIT, asked
from diagnostics.rules.knowledge import Plan
from diagnostics.rules.rule import Rule, filled
from diagnostics.rules.search import Counting

# Digits are all alike; what they make a line count for is looked up by those that tell.
ZEROS = bytes.maketrans(b"123456789", b"000000000")
MOST_SHAPES = 8_192
LONGEST = 1_000
MOST_SPANS = 64
# A time stands in the first bytes of a line.
STAMPED = 64

# A line with numbers: its place, its anchors, and whether a rule looks at it.
Drawn = tuple[int, int, bool]
Span = tuple[int, int]


class Same:
    """What lines count for that differ in nothing that tells; `times` are not counted yet."""

    __slots__ = ("counting", "held", "last", "notable", "numbers", "times")

    def __init__(self, held: int, plan: Plan, counting: tuple[Counting, ...]) -> None:
        self.held = held
        self.numbers = plan.numbers
        self.notable = plan.searched
        self.counting = counting
        self.times = self.last = 0


class Shape:
    """Lines that are equal but for digits, by those digits that tell."""

    __slots__ = ("same", "spans", "tell")

    def __init__(self) -> None:
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


# Lines of this shape hold no anchor whatever their digits are.
QUIET = Shape()


class Tally:
    """The lines of one piece, by their places: what is counted, and what has to be searched."""

    def __init__(self, shapes: Iterable[Shape | None], lines: Sequence[bytes]) -> None:
        self.counted: list[Same] = []
        self.more: list[int] = []
        self.drawn: list[Drawn] = []
        for at, shape in enumerate(shapes):
            if shape is None:
                self.more.append(at)
            elif shape is not QUIET:
                self._take(at, shape, lines[at])

    def _take(self, at: int, shape: Shape, line: bytes) -> None:
        same = shape.same.get(shape.tell(line))
        if same is None:
            self.more.append(at)
            return
        if not same.times:
            self.counted.append(same)
        same.times += 1
        same.last = at
        if same.numbers:
            self.drawn.append((at, same.held, same.notable))

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
        self._asked = frozenset(one for run in runs if run for one in run)
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
            shape.same[shape.tell(line)] = Same(held, plan, counting)

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
        found.update(_places(runs, zeros), _named(rule, text))
    return found


def _places(runs: Iterable[str], zeros: str) -> Iterator[Span]:
    """Yield each digit that stands where an expression asks for one."""
    for run in runs:
        digits = [at for at, letter in enumerate(run) if letter == DIGIT]
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
