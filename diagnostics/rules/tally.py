"""Count the lines of one piece by their shapes, many at once."""

from collections import Counter
from collections.abc import Mapping, Sequence

from diagnostics.rules.alike import QUIET, Same, Shape, Shapes
from diagnostics.series.waiting import Lines, Sort

# So many lines of one shape are looked at together.
MANY = 8

# A line with numbers, by its place in the piece.
Drawn = tuple[int, Sort]


class Tally:
    """The lines of one piece, by their places: what is counted, and what has to be searched.

    Lines of a shape in which no digit tells are not looked at one by one: of short lines a log of
    a gigabyte has fifty million. *zeros* are the lines with all digits alike.
    """

    def __init__(self, known: Shapes, zeros: Sequence[bytes], lines: Sequence[bytes]) -> None:
        self.counted: list[Same] = []
        self.more: list[int] = []
        self._drawn: list[Drawn] = []
        # Of many lines of one sort the places.
        self._parts: list[tuple[list[int], Sort]] = []
        self._zeros = zeros
        self._times = Counter(zeros)
        self._only: dict[bytes, Same] = {}
        looked: dict[bytes, Shape | None] = {}
        for key in self._times:
            shape = known.get(key)
            if shape is None or (shape is not QUIET and shape.only is None):
                looked[key] = shape
            elif shape.only is not None:
                self._only[key] = shape.only
        self._count_only()
        if looked:
            self._look(looked, lines)

    def _count_only(self) -> None:
        """Count the lines of which all of their shape count for the same."""
        counting = {key: same for key, same in self._only.items() if same.counting}
        for key, same in counting.items():
            self._count(same, self._times[key], 0)
        # The last line of each shape mostly stands near the end.
        at = len(self._zeros)
        while counting:
            at -= 1
            if (same_here := counting.pop(self._zeros[at], None)) is not None:
                same_here.last = max(same_here.last, at)

    def _look(self, looked: Mapping[bytes, Shape | None], lines: Sequence[bytes]) -> None:
        """Count lines by the digits of them that tell; those that are not known are `more`."""
        many: dict[bytes, list[int]] = {}
        for key, shape in looked.items():
            if shape is not None and self._times[key] >= MANY:
                many[key] = []
        for at, key in enumerate(self._zeros):
            if key in many:
                many[key].append(at)
            elif key in looked:
                shape = looked[key]
                same = None if shape is None else shape.same.get(shape.tell(lines[at]))
                if same is None:
                    self.more.append(at)
                    continue
                self._count(same, 1, at)
                if same.sort:
                    self._drawn.append((at, same.sort))
        for key, places in many.items():
            shape = looked[key]
            assert shape is not None, "only such were taken"
            self._look_at(shape, places, [lines[at] for at in places])
        self.more.sort()

    def _look_at(self, shape: Shape, places: list[int], lines: list[bytes]) -> None:
        """Count many lines of one shape, by what Python does to many at once."""
        told = list(map(shape.same.get, map(shape.tell, lines)))
        last = dict(zip(told, places, strict=True))
        for same, times in Counter(told).items():
            if same is not None:
                self._count(same, times, last[same])
        if None in last:
            self.more += (at for at, same in zip(places, told, strict=True) if same is None)
        sorts = {same.sort for same in last if same is not None}
        if None not in last and len(sorts) == 1:
            (sort,) = sorts
            self._parts += [(places, sort)] if sort else []
            return
        known = ((at, same) for at, same in zip(places, told, strict=True) if same is not None)
        self._drawn += ((at, same.sort) for at, same in known if same.sort)

    def _count(self, same: Same, times: int, last: int) -> None:
        if not same.times:
            self.counted.append(same)
            same.last = last
        same.times += times
        same.last = max(same.last, last)

    def drawn(self, learned: Sequence[Drawn], lines: list[bytes], first: int) -> Lines | None:
        """Return the lines with numbers; some were *learned*, *first* is the first one's number."""
        sorts = {key: same.sort for key, same in self._only.items() if same.sort}
        drawn: list[Drawn] = [*self._drawn, *learned]
        one = {*sorts.values(), *(sort for _, sort in self._parts), *(sort for _, sort in drawn)}
        in_parts = sum(len(places) for places, _ in self._parts)
        known = sum(self._times[key] for key in sorts) + in_parts
        if len(one) == 1 and known + len(drawn) == len(lines):
            # They are all lines with numbers, and of one sort: nothing is asked of each of them.
            numbers = range(first, first + len(lines))
            return Lines.of_shapes(numbers, lines, [*one] * len(lines), self._times)
        drawn += ((at, sort) for places, sort in self._parts for at in places)
        if sorts:
            in_order = enumerate(map(sorts.get, self._zeros))
            found = [(at, sort) for at, sort in in_order if sort]
            drawn = drawn + found if drawn else found
        if not drawn:
            return None
        drawn.sort()
        raws = [lines[at] for at, _ in drawn]
        return Lines.of([first + at for at, _ in drawn], raws, [sort for _, sort in drawn])

    def drop(self) -> None:
        """Count nothing: the lines are read one by one."""
        for same in self.counted:
            same.times = 0

    def count(self, lines: Sequence[bytes], first: int) -> None:
        """Count the lines; *first* is the number of the first of the piece."""
        for same in self.counted:
            same.again(first + same.last, lines[same.last], same.times)
            same.times = 0
