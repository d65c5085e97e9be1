"""Count the lines of one piece by their shapes, many at once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from diagnostics.rules.alike import QUIET, Same, Shape, Shapes
from diagnostics.series.waiting import Lines, Sort

# So many lines of one shape are looked at together.
MANY = 8

# A line with numbers, by its place in the piece.
Drawn = tuple[int, Sort]


class Tally:
    """The lines of one piece, by their places: what is counted, and what has to be searched.

    Lines of a shape in which no digit tells are not looked at one by one: of short lines a log of
    a gigabyte has fifty million. *zeros* are the lines with all digits alike, *times* how many
    there are of each.
    """

    def __init__(
        self,
        known: Shapes,
        zeros: Sequence[bytes],
        times: Mapping[bytes, int],
        lines: Sequence[bytes],
    ) -> None:
        self.counted: list[Same] = []
        self.more: list[int] = []
        self._drawn: list[Drawn] = []
        # Of many lines of one sort the places.
        self._parts: list[tuple[Sequence[int], Sort]] = []
        self._zeros = zeros
        self._times = times
        self._only: dict[bytes, Same] = {}
        looked: dict[bytes, Shape | None] = {}
        for key in self._times:
            shape = known.get(key)
            if shape is None or (shape is not QUIET and shape.only is None):
                looked[key] = shape
            elif shape.only is not None:
                self._only[key] = shape.only
        self._count_only()
        if len(times) == 1 and len(lines) >= MANY and (shape := next(iter(looked.values()), None)):
            self._look_at(shape, range(len(lines)), lines)
        elif looked:
            self._look(looked, lines)

    def _count_only(self) -> None:
        """Count the lines of which all of their shape count for the same."""
        counting = {key: same for key, same in self._only.items() if same.counting}
        last = _last(self._zeros, set(counting))
        for key, same in counting.items():
            self._count(same, self._times[key], last[key])

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

    def _look_at(self, shape: Shape, places: Sequence[int], lines: Sequence[bytes]) -> None:
        """Count many lines of one shape, by what Python does to many at once."""
        known, told = shape.same, list(map(shape.tell, lines))
        times = Counter(told)
        last = _last(told, set(times))
        unknown = {key for key in times if key not in known}
        for key, count in times.items():
            if key not in unknown:
                self._count(known[key], count, places[last[key]])
        if unknown:
            self.more += (at for at, key in zip(places, told, strict=True) if key in unknown)
        sorts = {known[key].sort for key in times if key not in unknown}
        if not unknown and len(sorts) == 1:
            (sort,) = sorts
            self._parts += [(places, sort)] if sort else []
            return
        found = ((at, known.get(key)) for at, key in zip(places, told, strict=True))
        self._drawn += ((at, same.sort) for at, same in found if same and same.sort)

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


def _last(keys: Sequence[Any], wanted: set[Any]) -> dict[Any, int]:
    """Return where each key stands last, which mostly is near the end."""
    last: dict[Any, int] = {}
    at = len(keys)
    while wanted:
        at -= 1
        if (key := keys[at]) in wanted:
            wanted.remove(key)
            last[key] = at
    return last
