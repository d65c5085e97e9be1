"""Curves in a terminal: dots of braille, four rows and two columns a cell, or plain ASCII."""

from collections.abc import Iterator, Sequence
from typing import Any

from agent.render.language import say
from agent.render.lines import Line, Span, cells, edge, shown
from agent.render.scale import Curve, curves, place_of, short
from diagnostics.document import Document

ROWS = 6
LABEL = 11
LEAST = 20
# The dots of a braille cell by row and column, as Unicode numbers them.
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BRAILLE = 0x2800
# Of a document's curves the ones that a terminal has room for.
DRAWN = ("loss", "grad_norm", "loss_scale", "step_ms", "rate", "sync_ms", "data_ms", "bus_gb_s")


def plots(document: Document, *, width: int, ascii_only: bool) -> list[Line]:
    """Return the curves of each run of the document, with what was found marked below them."""
    lines: list[Line] = []
    for run in document.jobs:
        drawn = [curve for curve in curves(run) if curve.name in DRAWN]
        if drawn:
            framework = f", {run['framework']}" if run["framework"] else ""
            head = say("Curves of {log}", log=f"{run['log']}{framework}")
            lines += [(), (Span(shown(head), "bold"),)]
        for curve in drawn:
            lines += [(), *_plot(curve, run["marks"], width, ascii_only=ascii_only)]
    return lines or [(), (Span("  " + say("no numbers to draw"), "dim"),)]


def _plot(
    curve: Curve, marks: Sequence[dict[str, Any]], width: int, *, ascii_only: bool
) -> Iterator[Line]:
    columns = max(width - LABEL - 2, LEAST)
    last = (
        "" if curve.last is None else say("last {value}", value=f"{short(curve.last)}{curve.unit}")
    )
    how = say(", by powers of ten") if curve.axis.by_size else ""
    yield edge((Span("  "), Span(f"{curve.title}{how}", "bold")), last, width)
    rows = _ascii(curve, columns) if ascii_only else _braille(curve, columns)
    for number, row in enumerate(rows):
        label = {0: short(curve.axis.high), ROWS - 1: short(curve.axis.low)}.get(number, "")
        yield (Span(f"{label:>{LABEL}} ", "dim"), Span(row))
    if curve.bad:
        yield (Span(_right(say("no number")), "dim"), Span(_bad(curve, columns), "fault"))
    told = _marks(curve, marks, columns)
    if told:
        yield (Span(_right(say("found")), "dim"), Span(told, "warning"))
    yield edge((Span(" " * (LABEL + 1)), Span(curve.at(0), "dim")), curve.at(-1), width)


def _right(label: str) -> str:
    return " " * (LABEL - cells(label)) + label + " "


def _columns(curve: Curve, columns: int) -> list[list[float]]:
    """Return the values of each column; where there are fewer points a value fills its columns."""
    held: list[list[float]] = [[] for _ in range(columns)]
    count = len(curve.values)
    for column in range(columns):
        first = column * count // columns
        for value in curve.values[first : max((column + 1) * count // columns, first + 1)]:
            if value is not None:
                held[column].append(value)
    return held


def _braille(curve: Curve, columns: int) -> list[str]:
    height = ROWS * len(DOTS)
    cells = [[0] * columns for _ in range(ROWS)]
    for at, values in enumerate(_columns(curve, columns * 2)):
        for low, high in ((min(values), max(values)),) if values else ():
            bottom, top = (round(curve.axis.place(v) * (height - 1)) for v in (low, high))
            for level in range(bottom, top + 1):
                row = height - 1 - level
                cells[row // 4][at // 2] |= DOTS[row % 4][at % 2]
    return ["".join(chr(BRAILLE + dots) for dots in row).rstrip(chr(BRAILLE)) for row in cells]


def _ascii(curve: Curve, columns: int) -> list[str]:
    cells = [[" "] * columns for _ in range(ROWS)]
    for at, values in enumerate(_columns(curve, columns)):
        for low, high in ((min(values), max(values)),) if values else ():
            bottom, top = (round(curve.axis.place(v) * (ROWS - 1)) for v in (low, high))
            for level in range(bottom, top + 1):
                cells[ROWS - 1 - level][at] = "*" if bottom == top else ":"
    return ["".join(row).rstrip() for row in cells]


def _bad(curve: Curve, columns: int) -> str:
    row = [" "] * columns
    for place in curve.bad:
        row[place * columns // len(curve.values)] = "x"
    return "".join(row).rstrip()


def _marks(curve: Curve, marks: Sequence[dict[str, Any]], columns: int) -> str:
    """Return what was found below where it was found, each once, as far as there is room."""
    row = ""
    for mark in marks:
        place = place_of(curve, mark["step"])
        if mark["severity"] == "info" or place is None:
            continue
        column = place * columns // len(curve.values)
        text = f"^ {mark['fault']}"
        if column + len(text) > columns:
            column, text = column - len(text) + 1, f"{mark['fault']} ^"
        if column >= len(row) + bool(row) and mark["fault"] not in row:
            row = f"{row:<{column}}{text}"
    return row
