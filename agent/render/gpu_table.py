"""The GPUs, one row each: how it is, whose it is, and what is left of memory, heat and power."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.render.language import say
from agent.render.lines import Line, Span, cells, shown
from agent.render.page import STATE, Page

GIB = 1 << 30
GAP = "  "
WIDEST = 24
# The last ones are left out first where there is no room.
LEAST_WANTED = ("power", "temp", "busy", "user", "memory")

Gpu = Mapping[str, Any]
Users = Callable[[int], str]


def gpu_table(page: Page, gpus: Sequence[Gpu], users: Users = str) -> list[Line]:
    """Return heading, names of columns and a row for each GPU; *users* names a uid."""
    rows = [_row(gpu, users) for gpu in gpus]
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    widths = {
        name: max(cells(text) for text in (say(name), *(r[name] for r in rows))) for name in columns
    }
    for name in LEAST_WANTED:
        if 4 + sum(widths[c] + len(GAP) for c in columns) > page.width and name in columns:
            columns.remove(name)
    lines = page.heading(say("GPUs"))
    lines.append(
        (Span("     "), Span(_joined({c: say(c) for c in columns}, columns, widths), "dim"))
    )
    for gpu, row in zip(gpus, rows, strict=True):
        mark = page.glyph(_state(page, gpu))
        lines.append((Span("  "), mark, Span("  "), Span(_joined(row, columns, widths))))
    return lines


def _row(gpu: Gpu, users: Users) -> dict[str, str]:
    return {
        "#": str(gpu["index"]),
        "address": _text(gpu["pci"] or "?"),
        "job": _text(", ".join(gpu["jobs"])) or "-",
        "user": _text(", ".join(users(uid) for uid in gpu["uids"])) or "-",
        "margin": _number(gpu["margin_c"], " C"),
        "memory": _of(gpu["used_bytes"], gpu["total_bytes"]),
        "busy": _number(gpu["utilisation_percent"], " %"),
        "temp": _number(gpu["temperature_c"], " C"),
        "power": _number(gpu["power_w"], " W"),
    }


def _text(text: str) -> str:
    safe = shown(text)
    return safe if cells(safe) <= WIDEST else safe[: WIDEST - 3] + "..."


def _joined(row: Mapping[str, str], columns: Sequence[str], widths: Mapping[str, int]) -> str:
    """Return one line; numbers stand at the right of their column."""
    padded = []
    for name in columns:
        gap = " " * (widths[name] - cells(row[name]))
        left = name in ("#", "address", "job", "user")
        padded.append(row[name] + gap if left else gap + row[name])
    return GAP.join(padded).rstrip()


def _state(page: Page, gpu: Gpu) -> str:
    """Return the worst that was found of this GPU; before a walk nothing is known of it."""
    if not page.document.stages:
        return "unknown"
    found = [
        STATE[f["severity"]]
        for f in page.document.findings
        if f["subject"]["kind"] == "gpu" and f["subject"]["name"] == gpu["pci"]
    ]
    return next((state for state in ("fault", "warning") if state in found), "ok")


def _of(used: int | None, total: int | None) -> str:
    return (
        ""
        if used is None or total is None
        else say("{used:.1f} of {total:.0f} GiB", used=used / GIB, total=total / GIB)
    )


def _number(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.0f}{unit}"
