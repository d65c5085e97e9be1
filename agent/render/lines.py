"""Lines of styled text: measured in cells, wrapped under themselves, printed plain or in colour."""

import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

CUT = 2000

# What a terminal acts on, or what changes the order of what stands beside it.
HOSTILE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
LAST_BYTE = 0xFF
# Chinese has no spaces: a line may end behind each of its characters, but for a bracket that opens,
# and none begins with a mark that ends a clause.
WIDE = re.compile("[\u2e80-\u9fff\uff00-\uffef]")
UNSPACED = re.compile(
    "[\uff08\u300a]*(?:[^\u2e80-\u9fff\uff00-\uffef]+|[\u2e80-\u9fff\uff00-\uffef])"
    "[\uff0c\u3002\uff1b\uff1a\u3001\uff09\u300b]*"
)


class Span(NamedTuple):
    """A piece of one line; `style` is a name of STYLES."""

    text: str
    style: str = ""


Line = tuple[Span, ...]

# The 16 colours of the terminal's own theme, never a background.
STYLES = {
    "fault": "bold red",
    "warning": "bold yellow",
    "unknown": "bold magenta",
    "ok": "bold green",
    "follows": "red",
    "bold": "bold",
    "dim": "dim",
}


def shown(text: str) -> str:
    """Return foreign text as a terminal may have it: escapes visible, a tab as a space, bounded."""
    safe = HOSTILE.sub(_escape, text[:CUT])
    left = len(text) - CUT
    return f"{safe}... ({left:,} more)" if left > 0 else safe


def _escape(hit: re.Match[str]) -> str:
    character = hit[0]
    if character == "\t":
        return " "
    code = ord(character)
    return f"\\x{code:02x}" if code <= LAST_BYTE else f"\\u{code:04x}"


def cells(text: str) -> int:
    """Return how many terminal cells *text* takes; wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def pad(text: str, width: int) -> str:
    """Return *text* with spaces up to *width* cells."""
    return text + " " * (width - cells(text))


def wrap(text: str, width: int) -> list[str]:
    """Return *text* in lines of at most *width* cells; a longer word is broken, not lost."""
    lines: list[str] = []
    line = ""
    for gap, word in _pieces(text, max(width, 8)):
        if line and cells(line) + cells(gap) + cells(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line}{gap}{word}" if line else word
    return [*lines, line] if line or not lines else lines


def _pieces(text: str, width: int) -> Iterator[tuple[str, str]]:
    """Yield what a line may be broken before, each with the space that stands before it."""
    for word in text.split(" "):
        gap = " "
        for part in UNSPACED.findall(word) if WIDE.search(word) else [word]:
            piece = ""
            for character in part:
                if cells(piece + character) > width:
                    yield gap, piece
                    gap, piece = "", ""
                piece += character
            yield gap, piece
            gap = ""


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
    """Return the lines with the terminal's colours around each styled span."""
    from rich.console import Console  # noqa: PLC0415 - 50 ms that only a terminal is worth
    from rich.text import Text  # noqa: PLC0415 - same

    painted = io.StringIO()
    console = Console(file=painted, force_terminal=True, color_system="standard", highlight=False)
    for line in lines:
        text = Text.assemble(*((span.text, STYLES.get(span.style, "")) for span in line))
        text.rstrip()
        console.print(text, soft_wrap=True)
    return painted.getvalue()
