"""What standard output can bear: width, glyphs, colour."""

import io
import locale
import os
import shutil
import sys
from collections.abc import Callable
from typing import TextIO

from agent.render.lines import Line, coloured, plain
from agent.render.plot import plots
from agent.render.table import draw
from diagnostics.document import Document

NARROW, WIDE, PIPED = 60, 120, 100


def show(
    document: Document, *, everything: bool, ascii_only: bool, color: str, curves: bool = False
) -> None:
    """Print the document on standard output as the terminal, or the pipe, can bear it."""
    plain_glyphs = ascii_only or not _unicode(sys.stdout)

    def drawing(width: int) -> list[Line]:
        lines = draw(document, width=width, ascii_only=plain_glyphs, everything=everything)
        return lines + plots(document, width=width, ascii_only=plain_glyphs) if curves else lines

    write(drawing, color=color)


def bears_glyphs() -> bool:
    """Return whether standard output shows more than ASCII."""
    return _unicode(sys.stdout)


def write(drawing: Callable[[int], list[Line]], *, color: str = "auto") -> None:
    """Write what *drawing* gives for the width of standard output, in colour where it is wanted."""
    lines = drawing(_width(sys.stdout))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A locale that cannot write a character must cost that character, not the diagnosis.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write((coloured if _colour(sys.stdout, color) else plain)(lines))


def _width(stream: TextIO) -> int:
    if not stream.isatty():
        return PIPED
    return min(max(shutil.get_terminal_size((PIPED, 24)).columns, NARROW), WIDE)


def _unicode(stream: TextIO) -> bool:
    encoding = (stream.encoding or locale.getpreferredencoding(do_setlocale=False)).lower()
    return encoding.replace("-", "") == "utf8" and os.environ.get("TERM") not in {"dumb", "linux"}


def _colour(stream: TextIO, wish: str) -> bool:
    if wish != "auto":
        return wish == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return bool(os.environ.get("FORCE_COLOR")) and not os.environ.get("NO_COLOR")
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()
