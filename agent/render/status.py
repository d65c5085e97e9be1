"""`gpudiag status` for people: what the daemon last saw, how old that is, how the daemon is."""

from collections.abc import Mapping
from typing import Any

import msgspec

from agent.render.gpu_table import Users, gpu_table
from agent.render.heat import heat
from agent.render.incidents import incidents
from agent.render.language import say
from agent.render.lines import Line, Span, block, cells, edge, pad, shown
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
    page.ages = {name: say("{age} ago", age=age(old)) for name, old in status["stages_s"].items()}
    gpus = gpu_table(page, status["gpus"], users) if status["gpus"] else []
    gpus += heat(page, status.get("caps"))
    gpus += [()] if gpus else []
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
            node=status["node"] or say("this node"),
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
        return say("no walk was finished yet")
    seen = say("as seen {age} ago", age=age(status["age_s"]))
    return seen if short else say(", ").join((seen, moment(status["diagnosis"]["started"])))


def age(seconds: float) -> str:
    """Return 16 s, 3 min or 2 h 10 min."""
    return f"{seconds:.0f} s" if seconds < MINUTE else duration(seconds)


def _up(seconds: float) -> str:
    if seconds < DAY:
        return age(seconds)
    return f"{seconds // DAY:.0f} d {seconds % DAY // HOUR:.0f} h"


def _daemon(page: Page, status: Status) -> list[Line]:
    about = status["agent"]
    lines = page.heading(say("Daemon"))
    for state, label, text in _rows(status, about):
        head = (Span("  "), page.glyph(state), Span(f" {pad(say(label), 13)} "))
        lines += block(head, shown(text), page.width)
    return lines


def _rows(status: Status, about: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    cost = about["cost"]
    facts = [about["product"].rpartition(" ")[2], say("up {time}", time=_up(about["up_s"]))]
    if cost["pss_bytes"] is not None:
        facts.append(f"{cost['pss_bytes'] / MIB:.0f} MiB")
    if cost["core_share"] is not None:
        facts.append(say("{percent:.2f} % of a core", percent=cost["core_share"] * 100))
    rows = [
        (
            "ok",
            "agent",
            say("{facts}, mode {mode}", facts=say(", ").join(facts), mode=about["mode"]),
        ),
        _walks(status, about),
    ]
    rows += _delivery(about.get("report"))
    left = about["left_behind"]
    state = "warning" if left else "ok"
    rows.append(
        (
            state,
            "helpers",
            say("{count} running, {left} left behind", count=about["helpers"], left=left),
        )
    )
    if about["released_until"] is not None:
        rows.append(("unknown", "GPUs", say("released: the driver is not asked")))
    if about["ended_before"]:
        rows.append(("warning", "last run", about["ended_before"]))
    rows += [("warning", "problem", text) for text in about["problems"]]
    rows += [("warning", "source", _failing(one)) for one in status["sources"] if one["failures"]]
    return rows


def _failing(source: Mapping[str, Any]) -> str:
    return say(
        "{name} fails, {count} times now: {why}",
        name=source["name"],
        count=source["failures"],
        why=source["missing"],
    )


def _walks(status: Status, about: Mapping[str, Any]) -> tuple[str, str, str]:
    every = say("every {seconds:.0f} s", seconds=about["walk_s"])
    if status["age_s"] is None:
        return "unknown", "walks", say("{every}; the first is not finished yet", every=every)
    if status["age_s"] > late(about["walk_s"]):
        return (
            "warning",
            "walks",
            say("{every}, but the last ended {age} ago", every=every, age=age(status["age_s"])),
        )
    took = status["diagnosis"]["seconds"]
    lasted = "" if took is None else say("; the last took {seconds:.1f} s", seconds=took)
    return "ok", "walks", every + lasted


def late(walk_s: float) -> float:
    """Return the age in seconds from which a walk says nothing of now."""
    return 2 * walk_s + MINUTE


def _delivery(report: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    if report is None:
        return [("none", "aggregator", say("none is set: what is seen stays on this node"))]
    ago = report["acknowledged_s"]
    heard = (
        say("nothing acknowledged yet")
        if ago is None
        else say("newest acknowledged {age} ago", age=age(ago))
    )
    problem = report["problem"]
    waits, most = report["bytes"] / MIB, report["most_bytes"] / MIB
    lost = report["lost"]
    return [
        ("warning" if problem else "ok", "aggregator", f"{report['url']}; {problem or heard}"),
        (
            "warning" if lost else "ok",
            "spool",
            say(
                "{waits:.1f} of {most:.0f} MiB waits, {lost} dropped",
                waits=waits,
                most=most,
                lost=lost,
            ),
        ),
    ]
