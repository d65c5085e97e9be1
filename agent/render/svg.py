"""One curve as a figure: ink on hairlines, crosses where there is no number, marks upright."""

import html
from collections.abc import Iterator, Sequence
from typing import Any

from agent.render.language import say
from agent.render.scale import Curve, place_of, short

WIDTH, HEIGHT = 720, 150
LEFT, RIGHT, TOP, BOTTOM = 84, 16, 22, 20
# More points than this are drawn by the least and the largest of each column.
COLUMNS = 600


def figure(curve: Curve, marks: Sequence[dict[str, Any]]) -> str:
    """Return the curve with its marks, each a dashed upright line with the evidence's number."""
    every = ((place_of(curve, mark["step"]), mark) for mark in marks)
    placed = [(place, mark) for place, mark in every if place is not None]
    told = ", ".join(
        say("{fault} at step {step:,}", fault=mark["fault"], step=mark["step"])
        for _, mark in placed
    )
    last = (
        "" if curve.last is None else say("last {value}", value=f"{short(curve.last)}{curve.unit}")
    )
    label = f"{curve.title}: {last}{'; ' + told if told else ''}"
    how = say(", by powers of ten") if curve.axis.by_size else ""
    drawn = (_grid(curve), _lines(curve), _bad(curve), _end(curve), _upright(curve, placed))
    parts = "".join(piece for pieces in drawn for piece in pieces)
    return (
        f'<figure><figcaption>{html.escape(curve.title + how)} <span class="meta">'
        f"{html.escape(last)}</span></figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(label)}">'
        f"{parts}</svg></figure>"
    )


def _x(curve: Curve, place: int) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * place / max(len(curve.values) - 1, 1), 1)


def _y(curve: Curve, value: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * curve.axis.place(value), 1)


def _grid(curve: Curve) -> Iterator[str]:
    for value in dict.fromkeys((curve.axis.high, curve.axis.low)):
        y = _y(curve, value)
        yield f'<line class="hair" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        text = html.escape(f"{short(value)}{curve.unit}")
        yield f'<text class="label" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{text}</text>'
    y = HEIGHT - 4
    yield f'<text class="label" x="{LEFT}" y="{y}">{html.escape(curve.at(0))}</text>'
    yield f'<text class="label" x="{WIDTH - RIGHT}" y="{y}" text-anchor="end">{curve.at(-1)}</text>'


def _lines(curve: Curve) -> Iterator[str]:
    """Yield the curve, broken where there is no number; a point alone is a dot."""
    for stretch in _stretches(curve):
        points = " ".join(f"{_x(curve, place)},{_y(curve, value)}" for place, value in stretch)
        if len(stretch) > 1:
            yield f'<polyline class="ink" points="{points}"/>'
        else:
            x, _, y = points.partition(",")
            yield f'<circle class="dot" cx="{x}" cy="{y}" r="1.5"/>'


def _stretches(curve: Curve) -> Iterator[list[tuple[int, float]]]:
    stretch: list[tuple[int, float]] = []
    for place, value in enumerate(curve.values):
        if value is not None:
            stretch.append((place, value))
        elif stretch:
            yield _fewer(stretch, len(curve.values))
            stretch = []
    if stretch:
        yield _fewer(stretch, len(curve.values))


def _fewer(stretch: Sequence[tuple[int, float]], count: int) -> list[tuple[int, float]]:
    """Return no more points than the drawing can show: each column's least and largest."""
    if count <= 2 * COLUMNS:
        return list(stretch)
    columns: dict[int, list[tuple[int, float]]] = {}
    for point in stretch:
        columns.setdefault(point[0] * COLUMNS // count, []).append(point)
    kept: list[tuple[int, float]] = []
    for held in columns.values():
        ends = {min(held, key=lambda p: p[1]), max(held, key=lambda p: p[1])}
        kept += sorted(ends)
    return kept


def _bad(curve: Curve) -> Iterator[str]:
    for x in dict.fromkeys(_x(curve, place) for place in curve.bad):
        y = TOP
        yield f'<path class="fault" d="M{x - 3} {y - 3}l6 6m0 -6l-6 6"/>'


def _end(curve: Curve) -> Iterator[str]:
    """Yield a cross at the last number, so that the end of the data is no fall to zero."""
    place = max((n for n, value in enumerate(curve.values) if value is not None), default=None)
    if place is not None and curve.last is not None:
        x, y = _x(curve, place), _y(curve, curve.last)
        yield f'<path class="ink" d="M{x - 3} {y}h6M{x} {y - 3}v6"/>'


def _upright(curve: Curve, placed: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[str]:
    drawn: dict[int, list[dict[str, Any]]] = {}
    for place, mark in placed:
        drawn.setdefault(place, []).append(mark)
    for place, marks in drawn.items():
        x = _x(curve, place)
        worst = "fault" if any(m["severity"] == "critical" for m in marks) else "warning"
        state = worst if any(m["severity"] != "info" for m in marks) else "note"
        numbers = ", ".join(str(m["number"]) for m in marks)
        ends = f'x1="{x}" x2="{x}" y1="{TOP - 4}" y2="{HEIGHT - BOTTOM}"'
        yield f'<line class="mark {state}" {ends}/>'
        at = f'x="{x}" y="{TOP - 8}" text-anchor="middle"'
        yield f'<text class="number {state}" {at}>{numbers}</text>'
