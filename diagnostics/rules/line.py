"""One line of a log: without colour codes, decoded, with the rank that wrote it."""

import re

import msgspec

from diagnostics.rules import prefix

LINE_CAP = 64 << 10

# ESC [ 0 ; 3 2 m, ESC ] 0 ; title BEL, ESC ( B
ESCAPES = re.compile(
    rb"\x1b(?:\[[0-9;?]{0,32}[ -/]{0,2}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)"
    rb"|[()][0-9A-B]|[=>78])"
)


class Line(msgspec.Struct, frozen=True):
    """A line that an anchor hit, as far as rules look at it; `number` counts from 1 in the log.

    `writer` is the rank that began the message of several lines that this one goes on with.
    """

    number: int
    text: str
    writer: int | None = None

    @property
    def rank(self) -> int | None:
        """Return the rank that the line says wrote it, or that began its message."""
        own = prefix.rank(self.text)
        return self.writer if own is None else own


def plain(piece: bytes) -> bytes:
    """Return *piece* without terminal escapes; its line ends stay where they are."""
    return ESCAPES.sub(b"", piece) if b"\x1b" in piece else piece


def decoded(line: bytes) -> str:
    r"""Return a line as text; bytes that are no UTF-8 are shown as `\xff`."""
    return line.decode("utf-8", "backslashreplace")
