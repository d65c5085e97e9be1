"""Lines that differ in digits that tell nothing: they count for the same, and are searched once.

An expression that treats all digits alike holds for a line whatever its digits are, and at the
same place. What a line counts for then depends on its digits only where a rank or a name is read.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from diagnostics.rules import prefix
from diagnostics.rules.knowledge import Plan
from diagnostics.rules.rule import Rule, filled
from diagnostics.rules.search import Counting

# Digits are all alike; what they make a line count for is looked up by those that tell.
ZEROS = bytes.maketrans(b"123456789", b"000000000")
MOST_SHAPES = 8_192
# What stands for any digit in an expression, and digits there that count something else.
ANY_DIGIT = re.compile(r"\\[A-Za-z\W]|\{\d{0,5}(?:,\d{0,5})?\}|0-9")
DIGIT = re.compile(r"\d")
LOOKS_BACK = "(?P="

# What is read of a line that counts for something.
Telling = Callable[[bytes], Any]
# The set of anchors that a line holds, and the line with its digits all alike.
Key = tuple[int, bytes]


def blind(expression: str) -> bool:
    """Return whether an expression surely treats all digits alike."""
    return LOOKS_BACK not in expression and not DIGIT.search(ANY_DIGIT.sub("", expression))


class Shape:
    """Lines that are equal but for digits: what of them tells, and what they then count for."""

    __slots__ = ("counting", "tell")

    def __init__(self, tell: Telling) -> None:
        self.tell = tell
        self.counting: dict[Any, tuple[Counting, ...]] = {}


class Shapes:
    """The shapes of lines that came lately, by their anchors and their digits all alike."""

    def __init__(self, most: int = MOST_SHAPES) -> None:
        self._most = most
        self._held = 0
        self._known: dict[Key, Shape | None] = {}
        self.get = self._known.get

    def add(self, key: Key, plan: Plan, line: bytes, counting: tuple[Counting, ...]) -> None:
        """Note what a line counts for."""
        if self._held >= self._most:
            self._known.clear()
            self._held = 0
        if key not in self._known:
            tell = telling(plan, line)
            self._known[key] = None if tell is None else Shape(tell)
        shape = self._known[key]
        self._held += 1
        if shape is not None:
            shape.counting[shape.tell(line)] = counting


def telling(plan: Plan, line: bytes) -> Telling | None:
    """Return what reads the digits that tell from lines of one shape; *line* is one of them.

    None where any digit can matter. Rules for the kernel are left out: no job's line is its.
    """
    if not line.isascii() or plan.ends:
        return None
    if not all(blind(rule.pattern) for rule in plan.rules):
        return None
    text = line.decode()
    spans = {*prefix.spans(text), *_named(plan.rules, text)}
    return itemgetter(*(slice(*span) for span in sorted(spans) or [(0, 0)]))


def _named(rules: Sequence[Rule], text: str) -> Iterator[tuple[int, int]]:
    for rule in rules:
        if match := rule.match(text):
            told = (match.span(field) for field in rule.fields if _tells(rule, field))
            yield from (span for span in told if span[0] >= 0)


def _tells(rule: Rule, field: str) -> bool:
    return field == "rank" or field in filled(rule.named)
