"""What a log ends with: lines that come again and again and tell of no progress."""

import re
from collections import Counter

import msgspec

from diagnostics.rules.line import decoded
from diagnostics.rules.when import when

LEAST_LINES = 4
DIGITS = re.compile(rb"\d+")
# Words of something that goes on, though no step ends: it is no rest.
PROGRESS = re.compile(
    rb"(?i)\b(?:epoch|step|iter|iteration|batch|eval|valid|test|sav|checkpoint|load|upload|download"
    rb"|generat|sampl|infer|compil|it/s|s/it|sync|copy)"
)


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """The last *lines* of a log, each of which says what one before or after it says as well.

    They span `seconds` by their own times; `line` is the number of the first of them.
    """

    line: int
    lines: int
    seconds: float
    text: str


def rest(tail: bytes, end: int) -> Rest | None:
    """Return the rest that the last bytes of a log show, *end* being its last line's number."""
    lines = tail.rstrip(b"\n").split(b"\n")[1:]
    stamped: list[bytes] = []
    for line in reversed(lines):
        if when(line).dated is None or PROGRESS.search(line):
            break
        stamped.insert(0, line)
    shapes = [DIGITS.sub(b"0", line) for line in stamped]
    times = Counter(shapes)
    alone = next((at for at, shape in enumerate(shapes) if times[shape] > 1), len(shapes))
    stamped, shapes = stamped[alone:], shapes[alone:]
    if len(stamped) < LEAST_LINES or any(times[shape] == 1 for shape in shapes):
        return None
    seconds = when(stamped[-1]).after_s(when(stamped[0])) or 0.0
    first = end - len(stamped) + 1
    return Rest(line=first, lines=len(stamped), seconds=seconds, text=decoded(stamped[0][:600]))
