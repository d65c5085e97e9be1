"""Find the lines that hold any of many anchors, in one pass over bytes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from diagnostics.rules.line import LINE_CAP


class Found(msgspec.Struct, frozen=True):
    """A line that anchors hit: its offset in the piece, its bytes up to the cap, the anchors."""

    start: int
    line: bytes
    anchors: list[int]


class Anchors:
    """Expressions compiled into one Hyperscan database; letters match in either case."""

    def __init__(self, expressions: Sequence[str]) -> None:
        # Commands that read no log do without the library and its start-up.
        import hyperscan  # noqa: PLC0415 - see above

        self._database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[expression.encode() for expression in expressions],
            ids=list(range(len(expressions))),
            elements=len(expressions),
            flags=[hyperscan.HS_FLAG_CASELESS] * len(expressions),
        )

    def lines(self, piece: bytes) -> list[Found]:
        """Return the lines of *piece* with a hit, in order; a hit past the line cap counts not."""
        found: list[Found] = []
        start, end = 0, -1

        def hit(anchor: int, _from: int, after: int, _flags: int, _context: object) -> None:
            # Hits come in the order of their ends, so that each line is looked for once. The last
            # byte of a hit can be the line end itself, where an anchor asks for what is no letter.
            nonlocal start, end
            at = after - 1
            if at > end:
                start = piece.rfind(b"\n", max(end, 0), at) + 1
                end = piece.find(b"\n", at)
                end = len(piece) if end < 0 else end
                if at - start <= LINE_CAP:
                    found.append(Found(start, piece[start : min(end, start + LINE_CAP)], [anchor]))
            elif found and found[-1].start == start and anchor not in found[-1].anchors:
                found[-1].anchors.append(anchor)

        self._database.scan(piece, match_event_handler=hit)
        return found
