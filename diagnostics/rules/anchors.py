"""Find the lines that hold any of many anchors, in one pass over bytes."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from diagnostics.rules.line import LINE_CAP

# Which anchors stand together in a line; hostile text can make many such sets.
MOST_SETS = 10_000


class Found(msgspec.Struct, frozen=True):
    """A line that anchors hit: its offset in the piece, its bytes up to the cap, the anchors."""

    start: int
    line: bytes
    anchors: list[int]


class Anchors:
    """Expressions compiled into one Hyperscan database; letters match in either case.

    An expression is known by its place in the sequence; equal ones are looked for once.
    *database* is one compiled earlier of the same expressions.
    """

    def __init__(self, expressions: Sequence[str], database: bytes | None = None) -> None:
        # Commands that read no log do without the library and its start-up.
        import hyperscan  # noqa: PLC0415 - see above

        places: dict[str, list[int]] = {}
        for place, expression in enumerate(expressions):
            places.setdefault(expression, []).append(place)
        self.expressions = tuple(places)
        self._places = tuple(tuple(held) for held in places.values())
        self._bits = [1 << bit for bit in range(len(places))]
        self._sets: dict[int, tuple[int, ...]] = {}
        if database is not None:
            self._database: Any = hyperscan.loadb(database, hyperscan.HS_MODE_BLOCK)
            self._database.scratch = hyperscan.Scratch(self._database)
            return
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[expression.encode() for expression in places],
            ids=list(range(len(places))),
            elements=len(places),
            flags=[hyperscan.HS_FLAG_CASELESS] * len(places),
        )

    def dumped(self) -> bytes:
        """Return the compiled database; it fits this library and this kind of processor alone."""
        import hyperscan  # noqa: PLC0415 - as above

        dumped: bytes = hyperscan.dumpb(self._database)
        return dumped

    def hits(self, piece: bytes) -> list[tuple[int, int, int]]:
        """Return start, end and set of anchors of each line with a hit, in order.

        A hit past the line cap counts not. The sets are named by `anchors`.
        """
        found: list[tuple[int, int, int]] = []
        append, rfind, find, bits = found.append, piece.rfind, piece.find, self._bits
        start = end = after_end = held = 0

        def hit(anchor: int, _from: int, after: int, _flags: int, _context: object) -> None:
            # Hits come in the order of their ends, so that each line is looked for once. The last
            # byte of a hit can be the line end itself, where an anchor asks for what is no letter.
            nonlocal start, end, after_end, held
            if after > after_end:
                if held:
                    append((start, end, held))
                start = rfind(b"\n", after_end, after - 1) + 1 or after_end
                end = find(b"\n", after - 1)
                if end < 0:
                    end = len(piece)
                after_end = end + 1
                held = bits[anchor] if after - start <= LINE_CAP else 0
            elif after - start <= LINE_CAP:
                held |= bits[anchor]

        self._database.scan(piece, match_event_handler=hit)
        if held:
            append((start, end, held))
        return found

    def anchors(self, held: int) -> tuple[int, ...]:
        """Return the places of the anchors in one set."""
        known = self._sets.get(held)
        if known is None:
            if len(self._sets) >= MOST_SETS:
                self._sets.clear()
            known = self._sets[held] = tuple(self._of(held))
        return known

    def _of(self, held: int) -> Iterator[int]:
        for bit, places in enumerate(self._places):
            if held >> bit & 1:
                yield from places

    def lines(self, piece: bytes) -> list[Found]:
        """Return the lines of *piece* with a hit, cut at the cap."""
        return [
            Found(start, piece[start : min(end, start + LINE_CAP)], list(self.anchors(held)))
            for start, end, held in self.hits(piece)
        ]
