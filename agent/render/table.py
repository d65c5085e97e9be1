"""`gpudiag run` and `logs` for people: verdict, incidents, stages, what to do."""

import io
import locale
import os
import shutil
import sys
from collections.abc import Callable
from typing import TextIO

from agent.render.incidents import incidents
from agent.render.lines import Line, coloured, plain
from agent.render.page import Page
from agent.render.stages import notes, stages, unseen_as_user
from agent.render.verdict import verdict
from diagnostics.document import Document

NARROW, WIDE, PIPED = 60, 120, 100


def show(document: Document, *, everything: bool, ascii_only: bool, color: str) -> None:
    """Print the document on standard output as the terminal, or the pipe, can bear it."""
    plain_glyphs = ascii_only or not _unicode(sys.stdout)
    write(
        lambda width: draw(document, width=width, ascii_only=plain_glyphs, everything=everything),
        color=color,
    )


def write(drawing: Callable[[int], list[Line]], *, color: str = "auto") -> None:
    """Write what *drawing* gives for the width of standard output, in colour where it is wanted."""
    lines = drawing(_width(sys.stdout))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A locale that cannot write a character must cost that character, not the diagnosis.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write((coloured if _colour(sys.stdout, color) else plain)(lines))


def draw(document: Document, *, width: int, ascii_only: bool, everything: bool) -> list[Line]:
    """Return the whole page as lines."""
    page = Page(document, width=width, ascii_only=ascii_only, everything=everything)
    parts = [verdict(page), incidents(page), stages(page), _plan(page)]
    parts += [part for part in (unseen_as_user(page), notes(page), _more(page)) if part]
    lines: list[Line] = []
    for part in parts:
        lines += [(), *part] if lines else part
    return lines


def _plan(page: Page) -> list[Line]:
    lines = page.heading("What to do")
    number = 0
    for entry in page.document.plan:
        for step in entry.steps:
            number += 1
            lines += page.item(f"{number}.", step)
        for following in page.incident(entry.incident).next:
            lines.append(page.command(following.command))
        if entry.risk:
            lines += page.item("-", entry.risk)
    return lines if number else [*lines, page.text("nothing")]


def _more(page: Page) -> list[Line]:
    roots = [page.finding(root)["fault"] for root in page.document.root_causes]
    return [page.text(f"More: gpudiag explain {roots[0]}", indent=0)] if roots else []


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
