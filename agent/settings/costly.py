r"""What an expression of a site's rule costs on a hostile line, found by giving it such lines.

Python's expressions backtrack, and nothing ends one that has begun: `(\w{1,9} ?){1,90};` takes
years for 60 letters without a semicolon. What leads into an expression stands in the rule's own
examples, so that they are drawn out, piece by piece, until the end no longer fits.
"""

import re
import time
from collections.abc import Iterator, Sequence

# Those that grow beyond all bounds are told by short lines, others by as much as a gap may hold.
LENGTHS = (6, 9, 12, 15, 18, 21, 24, 28, 32, 64, 128, 256, 400)
# A line of 64 KiB has 164 times as many places to start from as one of 400 characters.
MOST_S = 0.01
# A word, a number, what stands between: pieces that an expression may repeat.
PIECE = re.compile(r"[A-Za-z_]+|\d+|\s+|[^\w\s]")
MOST_PIECES = 80
# A line that begins as the example and can be no match.
END = "\x01"


def costly(expression: re.Pattern[str], examples: Sequence[str]) -> str | None:
    """Return why it costs too much: with how many characters it took how long; None where not."""
    for example in examples:
        for before, drawn in _pieces(example):
            if (took := _took(expression, before, drawn)) is not None:
                length, seconds = took
                return (
                    f"took {seconds * 1000:.0f} ms for a line of {length} characters "
                    f"({drawn[:20]!r} repeated after {before[-40:]!r}); "
                    "let what repeats not fit what follows it, and no repeat stand in another"
                )
    return None


def _pieces(example: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before a piece, and what to repeat: a letter, the piece, two of them."""
    found = list(PIECE.finditer(example))[:MOST_PIECES]
    for number, piece in enumerate(found):
        before = example[: piece.start()]
        two = example[piece.start() : found[min(number + 1, len(found) - 1)].end()]
        yield from ((before, drawn) for drawn in dict.fromkeys((piece[0][0], piece[0], two)))


def _took(expression: re.Pattern[str], before: str, drawn: str) -> tuple[int, float] | None:
    """Return the first length at which it takes too long; the lengths grow so that it ends."""
    for length in LENGTHS:
        line = before + (drawn * length)[:length] + END
        took = _seconds(expression, line)
        # The first look at a page of memory, say, is not the expression's cost.
        if took > MOST_S and (again := _seconds(expression, line)) > MOST_S:
            return len(line), again
    return None


def _seconds(expression: re.Pattern[str], line: str) -> float:
    began = time.process_time()
    expression.search(line)
    return time.process_time() - began
