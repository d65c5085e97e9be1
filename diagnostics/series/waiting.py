"""Number lines that wait to be read: how they are kept, and counted where they are never read."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from diagnostics.rules.line import decoded
from diagnostics.series.forms.number import ZEROS
from diagnostics.series.lines import numbers

# Of a number line no more than this is kept; the longest of DeepSpeed's has 1,500.
LONGEST = 2_000
# Megatron has 'skipped iterations:   0' in each line.
SKIPS, SKIPS_NONE = b"skipped iterations", b"skipped iterations:   0"
# Lines that differ in digits alone have a finite loss or none of them has, unless as 1e999.
EXPONENTS = (b"e000", b"e+000", b"E000", b"E+000")
MOST_SHAPES = 8_192

# What sort of number line one is: the anchors it holds, and whether a rule finds it notable.
Sort = tuple[int, bool]


class Lines(msgspec.Struct):
    """Number lines that are not read yet, in columns: their numbers, texts and sorts.

    `skips` is True where one may tell of a step that was left out. `shapes` is how many lines
    there are of each shape, None where nobody counted them.
    """

    numbers: Sequence[int]
    raws: list[bytes]
    sorts: list[Sort]
    skips: bool
    shapes: Mapping[bytes, int] | None = None

    @classmethod
    def of(cls, numbers: Sequence[int], raws: list[bytes], sorts: list[Sort]) -> "Lines":
        """Return lines, without their ends, of any length."""
        if max(map(len, raws)) > LONGEST:
            raws = [raw[:LONGEST] for raw in raws]
        return cls(numbers, raws, sorts, _tell_of_skips(raws))

    @classmethod
    def of_shapes(
        cls,
        numbers: Sequence[int],
        raws: list[bytes],
        sorts: list[Sort],
        shapes: Mapping[bytes, int],
    ) -> "Lines":
        """Return lines of which the shapes are known."""
        if max(map(len, shapes)) > LONGEST:
            return cls.of(numbers, raws, sorts)
        skips = any(SKIPS in shape for shape in shapes) and _tell_of_skips(raws)
        return cls(numbers, raws, sorts, skips, shapes)

    def parted(self, at: int) -> tuple["Lines", "Lines"]:
        """Return the lines before *at*, and the others."""
        before = Lines(self.numbers[:at], self.raws[:at], self.sorts[:at], self.skips)
        return before, Lines(self.numbers[at:], self.raws[at:], self.sorts[at:], self.skips)

    def extend(self, other: "Lines") -> None:
        """Add later lines."""
        self.numbers = [*self.numbers, *other.numbers]
        self.raws += other.raws
        self.sorts += other.sorts
        self.skips = self.skips or other.skips
        self.shapes = None


def _tell_of_skips(raws: list[bytes]) -> bool:
    # Asked while they are in the processor's cache.
    text = b"\n".join(raws)
    return text.count(SKIPS) > text.count(SKIPS_NONE)


class Unread:
    """Lines that are counted by whether their loss is finite, each shape read once."""

    def __init__(self) -> None:
        self.bad = 0
        # None where lines of the shape differ in it.
        self._known: dict[bytes, bool | None] = {}

    def add(self, raws: list[bytes], shapes: Mapping[bytes, int] | None = None) -> None:
        """Count the lines; *shapes* is how many there are of each."""
        if not raws:
            return
        if shapes is None:
            shapes = Counter(b"\n".join(raws).translate(ZEROS).split(b"\n"))
        if new := {shape for shape in shapes if shape not in self._known}:
            self._learn(new, raws)
        for shape, times in shapes.items():
            known = self._known[shape]
            if known is None:
                self.bad += sum(bad(raw) for raw in raws if raw.translate(ZEROS) == shape)
            else:
                self.bad += times * known

    def less(self, raws: list[bytes]) -> None:
        """Count these lines no more: they are read."""
        before, self.bad = self.bad, 0
        self.add(raws)
        self.bad = before - self.bad

    def _learn(self, new: set[bytes], raws: list[bytes]) -> None:
        if len(self._known) + len(new) > MOST_SHAPES:
            self._known.clear()
        for raw in raws:
            shape = raw.translate(ZEROS)
            if shape in new or shape not in self._known:
                new.discard(shape)
                differ = any(word in shape for word in EXPONENTS)
                self._known[shape] = None if differ else bad(raw)


def bad(raw: bytes) -> bool:
    """Return whether a line has a loss that is no finite number."""
    said = numbers(decoded(raw))
    return said is not None and said.loss is not None and not math.isfinite(said.loss)
