"""Lines that differ in digits that tell nothing: they count for the same, and are searched once.

What a line counts for depends on its digits only where a rank or a name is read, and where an
expression that is looked for asks for a digit. All others may be as they are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from diagnostics.rules import prefix
from diagnostics.rules.digits import DIGIT, asked
from diagnostics.rules.knowledge import Plan
from diagnostics.rules.rule import Rule, filled
from diagnostics.rules.search import Counting
from diagnostics.series.forms.number import ZEROS

if TYPE_CHECKING:
    from diagnostics.series.waiting import Sort

MOST_SHAPES = 8_192
LONGEST = 1_000
MOST_SPANS = 64
# A time stands in the first bytes of a line.
STAMPED = 64

Span = tuple[int, int]
# What a digit tells that an expression asks for.
ASKED = "asked"


class Same:
    """What lines count for that differ in nothing that tells; `times` are not counted yet."""

    __slots__ = ("counting", "last", "sort", "times")

    def __init__(self, held: int, plan: Plan, counting: tuple[Counting, ...]) -> None:
        self.sort: Sort | None = (held, plan.searched) if plan.numbers else None
        self.counting = counting
        self.times = self.last = 0

    def again(self, number: int, line: bytes, times: int = 1) -> None:
        """Count one more line, or more up to it."""
        for one in self.counting:
            one.again(number, line[:STAMPED], times)


class Shape:
    """Lines that are equal but for digits, by those digits that tell.

    Where none does, `only` is what all of them count for.
    """

    __slots__ = ("only", "same", "spans", "tell")

    def __init__(self, spans: Iterable[Span], same: dict[Any, Same]) -> None:
        self.same = same
        self._look(frozenset(spans))

    def _look(self, spans: frozenset[Span]) -> None:
        self.only: Same | None = None
        self.spans = spans
        where = [slice(*span) for span in sorted(spans)] or [slice(0, 0)]
        self.tell: Callable[[bytes], Any] = itemgetter(*where)

    def told(self, line: bytes) -> Same | None:
        """Return what a line of this shape counts for, None where that is not known."""
        return self.only or self.same.get(self.tell(line))

    def widen(self, spans: Iterable[Span]) -> None:
        """Look at these digits too."""
        if not self.spans.issuperset(spans):
            self.same = {}
            self._look(self.spans.union(spans))

    def add(self, line: bytes, same: Same) -> None:
        """Note what a line of this shape counts for."""
        same = self.same.setdefault(self.tell(line), same)
        self.only = None if self.spans else same


# Lines of this shape hold no anchor whatever their digits are.
QUIET = Shape((), {})


class Shapes:
    """The shapes of lines that came lately, by their text with all digits alike.

    *anchors* are all that are looked for. Shapes for which the same rules hold share what their
    lines count for by rank and name: with many numbers in a line there are thousands of shapes.
    """

    def __init__(self, anchors: Sequence[str], most: int = MOST_SHAPES) -> None:
        self._most = most
        self._room = most
        self._known: dict[bytes, Shape | None] = {}
        self._shared: dict[Any, dict[Any, Same]] = {}
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
            self._shared.clear()
            self._room = self._most
        key = line.translate(ZEROS)
        told = self._told(plan, line, key)
        known = self._known.get(key)
        if counting is None or told is None:
            self._known[key] = None
        elif not (held or told or known):
            self._known[key] = QUIET
        elif known or key not in self._known:
            if known is None:
                same = self._of_kind(held, plan, line, told)
                known = self._known[key] = Shape(told, same)
            known.widen(told)
            known.add(line, Same(held, plan, counting))

    def _of_kind(
        self, held: int, plan: Plan, line: bytes, told: Mapping[Span, str]
    ) -> dict[Any, Same]:
        """Return what is known of lines for which the same holds, by what stands at their spans."""
        fields = tuple(told[span] for span in sorted(told))
        if ASKED in fields:
            return {}
        rules = tuple(rule.id for rule in plan.rules if rule.match(line.decode()))
        return self._shared.setdefault((held, fields, rules), {})

    def _told(self, plan: Plan, line: bytes, key: bytes) -> dict[Span, str] | None:
        """Return where digits tell in lines of one shape, and of what; None where all can."""
        text = key.lower().decode("latin-1")
        found = dict.fromkeys(_places(self._asked, text), ASKED)
        if plan.rules or plan.ends:
            told = told_by(plan, line, text)
            if told is None:
                return None
            found = told | found
        return found if len(found) <= MOST_SPANS else None


def told_by(plan: Plan, line: bytes, zeros: str) -> dict[Span, str] | None:
    """Return where digits tell what a line counts for; *zeros* is it with its digits all alike.

    None where all can. Rules for the kernel are left out: no job's line is its.
    """
    if not line.isascii() or plan.ends:
        return None
    text = line.decode()
    found = {span: f"writer {n}" for n, span in enumerate(prefix.spans(text))}
    for rule in plan.rules:
        runs = asked(rule.pattern)
        if runs is None:
            return None
        for span, field in _named(rule, text):
            found[span] = f"{found.get(span, '')} {rule.id} {field}"
        found |= dict.fromkeys(_places(_digits(runs), zeros), ASKED)
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


def _named(rule: Rule, text: str) -> Iterator[tuple[Span, str]]:
    """Yield where the rank and the name stand, and which field each is."""
    if match := rule.match(text):
        told = ((match.span(field), field) for field in rule.fields if _tells(rule, field))
        yield from (one for one in told if one[0][0] >= 0)


def _tells(rule: Rule, field: str) -> bool:
    return field == "rank" or field in filled(rule.named)
