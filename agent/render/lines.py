"""Lines of styled text: measured in cells, wrapped under themselves, printed plain or in colour."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

CUT = 2000

# What a terminal acts on, or what changes the order of what stands beside it.
HOSTILE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class Span(NamedTuple):
    """A piece of one line; `style` is a name of STYLES."""

    text: str
    style: str = ""


Line = tuple[Span, ...]

# The 16 colours of the terminal's own theme, never a background (SGR parameters).
STYLES = {
    "fault": "1;31",
    "warning": "1;33",
    "unknown": "1;35",
    "ok": "1;32",
    "follows": "31",
    "bold": "1",
    "dim": "2",
}


def shown(text: str) -> str:
    """Return foreign text as it may stand on a terminal: escapes visible, tab as a space, bounded."""
    safe = HOSTILE.sub(_escape, text[: CUT + 1] if len(text) > CUT else text)
    if len(text) > CUT:
        return f"{safe[:CUT]}... ({len(text) - CUT:,} more)"
    return safe


def _escape(hit: re.Match[str]) -> str:
    character = hit[0]
    if character == "\t":
        return " "
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


def cells(text: str) -> int:
    """Return how many terminal cells *text* takes; wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def wrap(text: str, width: int) -> list[str]:
    """Return *text* in lines of at most *width* cells; a word that is longer is broken, not lost."""
    lines: list[str] = []
    line = ""
    for word in _pieces(text, max(width, 8)):
        if line and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line or not lines else lines


def _pieces(text: str, width: int) -> Iterator[str]:
    for word in text.split(" "):
        piece = ""
        for character in word:
            if cells(piece + character) > width:
                yield piece
                piece = ""
            piece += character
        yield piece


def block(head: Sequence[Span], text: str, width: int, *, style: str = "") -> Iterator[Line]:
    """Yield *head* followed by *text*, which wraps under its own first cell."""
    indent = sum(cells(span.text) for span in head)
    first, *more = wrap(text, width - indent)
    yield (*head, Span(first, style))
    for line in more:
        yield (Span(" " * indent), Span(line, style))


def edge(line: Line, right: str, width: int) -> Line:
    """Return *line* with *right* at the right edge, where both fit."""
    gap = width - sum(cells(span.text) for span in line) - cells(right)
    return (*line, Span(" " * max(gap, 2)), Span(right, "dim")) if right else line


def plain(lines: Iterable[Line]) -> str:
    """Return the lines as text without colour, no space at line ends."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines) + "\n"


def coloured(lines: Iterable[Line]) -> str:
    """Return the lines with SGR colour around each styled span."""

    def paint(span: Span) -> str:
        return f"\x1b[{STYLES[span.style]}m{span.text}\x1b[0m" if span.style else span.text

    return "\n".join("".join(map(paint, line)).rstrip() for line in lines) + "\n"
