"""`gpudiag status` for people: what the daemon last saw, how old that is, how the daemon is."""

from collections.abc import Mapping
from typing import Any

import msgspec

from agent.render.gpu_table import Users, gpu_table
from agent.render.incidents import incidents
from agent.render.lines import Line, Span, block, cells, edge, shown
from agent.render.page import ROOMY, Page
from agent.render.stages import stages
from agent.render.verdict import verdict
from agent.render.words import DAY, HOUR, MINUTE, duration, moment
from diagnostics.document import Document

MIB = 1 << 20
Status = Mapping[str, Any]


def draw(
    status: Status,
    *,
    width: int,
    ascii_only: bool,
    users: Users = "uid {}".format,
    live: bool = False,
) -> list[Line]:
    """Return the page of one answer of the daemon; *users* names a uid.

    Where it is *live*, the GPUs come first: it is they that somebody watches, and a low window
    shows no more than the top.
    """
    document = _document(status)
    # Room for the age of what is shown, at the right edge of the first line.
    seen = _seen(status, short=width < ROOMY)
    page = Page(document, width=width - cells(seen) - 2, ascii_only=ascii_only, everything=False)
    first, *more = verdict(page)
    page.width, page.narrow = width, width < ROOMY
    page.ages = {name: f"{age(old)} ago" for name, old in status["stages_s"].items()}
    gpus = [*gpu_table(page, status["gpus"], users), ()] if status["gpus"] else []
    walked = [*stages(page), ()] if status["diagnosis"] is not None else []
    causes: list[Line] = [*incidents(page), ()]
    lines = [edge(first, seen, width), *more, ()]
    lines += [*gpus, *causes, *walked] if live else [*causes, *walked, *gpus]
    return lines + _daemon(page, status)


def _document(status: Status) -> Document:
    """Return the diagnosis; before the first walk, one that says that nothing was seen."""
    if (said := status["diagnosis"]) is None:
        return Document(
            product=status["agent"]["product"],
            node=status["node"] or "this node",
            boot_id=None,
            started=None,
            seconds=None,
            verdict="unknown",
            stages=(),
            findings=(),
        )
    document = msgspec.convert(said, Document)
    untimed = tuple(msgspec.structs.replace(stage, seconds=None) for stage in document.stages)
    return msgspec.structs.replace(document, stages=untimed, started=None, seconds=None)


def _seen(status: Status, *, short: bool) -> str:
    if status["age_s"] is None:
        return "no walk was finished yet"
    seen = f"as seen {age(status['age_s'])} ago"
    return seen if short else f"{seen}, {moment(status['diagnosis']['started'])}"


def age(seconds: float) -> str:
    """Return 16 s, 3 min or 2 h 10 min."""
    return f"{seconds:.0f} s" if seconds < MINUTE else duration(seconds)


def _up(seconds: float) -> str:
    if seconds < DAY:
        return age(seconds)
    return f"{seconds // DAY:.0f} d {seconds % DAY // HOUR:.0f} h"


def _daemon(page: Page, status: Status) -> list[Line]:
    about = status["agent"]
    lines = page.heading("Daemon")
    for state, label, text in _rows(status, about):
        head = (Span("  "), page.glyph(state), Span(f" {label:<13} "))
        lines += block(head, shown(text), page.width)
    return lines


def _rows(status: Status, about: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    cost = about["cost"]
    facts = [about["product"].rpartition(" ")[2], f"up {_up(about['up_s'])}"]
    if cost["pss_bytes"] is not None:
        facts.append(f"{cost['pss_bytes'] / MIB:.0f} MiB")
    if cost["core_share"] is not None:
        facts.append(f"{cost['core_share'] * 100:.2f} % of a core")
    rows = [("ok", "agent", f"{', '.join(facts)}, mode {about['mode']}"), _walks(status, about)]
    rows += _delivery(about.get("report"))
    left = about["left_behind"]
    state = "warning" if left else "ok"
    rows.append((state, "helpers", f"{about['helpers']} running, {left} left behind"))
    if about["released_until"] is not None:
        rows.append(("unknown", "GPUs", "released: the driver is not asked"))
    if about["ended_before"]:
        rows.append(("warning", "last run", about["ended_before"]))
    rows += [("warning", "problem", text) for text in about["problems"]]
    rows += [
        ("warning", "source", f"{one['name']} fails, {one['failures']} times now: {one['missing']}")
        for one in status["sources"]
        if one["failures"]
    ]
    return rows


def _walks(status: Status, about: Mapping[str, Any]) -> tuple[str, str, str]:
    every = f"every {about['walk_s']:.0f} s"
    if status["age_s"] is None:
        return "unknown", "walks", f"{every}; the first is not finished yet"
    if status["age_s"] > late(about["walk_s"]):
        return "warning", "walks", f"{every}, but the last ended {age(status['age_s'])} ago"
    took = status["diagnosis"]["seconds"]
    lasted = "" if took is None else f"; the last took {took:.1f} s"
    return "ok", "walks", every + lasted


def late(walk_s: float) -> float:
    """Return the age in seconds from which a walk says nothing of now."""
    return 2 * walk_s + MINUTE


def _delivery(report: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    if report is None:
        return [("none", "aggregator", "none is set: what is seen stays on this node")]
    ago = report["acknowledged_s"]
    heard = "nothing acknowledged yet" if ago is None else f"newest acknowledged {age(ago)} ago"
    problem = report["problem"]
    spool = f"{report['bytes'] / MIB:.1f} of {report['most_bytes'] / MIB:.0f} MiB waits"
    lost = report["lost"]
    return [
        ("warning" if problem else "ok", "aggregator", f"{report['url']}; {problem or heard}"),
        ("warning" if lost else "ok", "spool", f"{spool}, {lost} dropped"),
    ]
