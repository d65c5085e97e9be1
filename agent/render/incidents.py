"""The incidents: sentence, how sure, evidence, what follows, what was ruled out."""

from typing import Any

from agent.render.language import say
from agent.render.lines import Line, Span, block, cells, pad, shown
from agent.render.page import STATE, Page
from agent.render.steps import steps
from agent.render.words import HOUR, capital, clock, local, times
from diagnostics.document import Document, Incident
from diagnostics.incidents.ticket import ticket

MOST_EVIDENCE = 6
MOST_ALIKE = 2


def incidents(page: Page) -> list[Line]:
    """Return all incidents, gravest first."""
    lines = page.heading(say("Incidents"))
    if not page.document.incidents:
        return [*lines, page.text(say("none"))]
    for number, incident in enumerate(page.document.incidents):
        lines += [(), *_one(page, incident)] if number else _one(page, incident)
    return lines


def story(document: Document, incident: Incident, width: int, *, ascii_only: bool) -> list[Line]:
    """Return all that is known of one incident: its story, what to do, and the ticket's text."""
    page = Page(document, width=width, ascii_only=ascii_only, everything=True)
    lines = [
        *page.heading(
            say("Incident {name}, {state}", name=incident.fingerprint, state=say(incident.state))
        ),
        *_one(page, page.incident(incident.id)),
    ]
    lines += [(), *page.heading(say("What to do"))]
    for look in page.incident(incident.id).next:
        lines += page.item("-", capital(look.why) + say(":"))
        lines.append(page.command(look.command))
    plans = [plan for plan in page.document.plan if plan.incident == incident.id]
    lines += steps(page, [step for plan in plans for step in plan.steps], 1)
    if incident.resubmit:
        lines += page.item("-", say("Start the job anew on other nodes:"))
        lines.append(page.command(incident.resubmit))
    lines += [(), *page.heading(say("Text for a ticket"))]
    for line in ticket(document, incident):
        lines += block((Span("  "),), shown(line), width) if line else [()]
    return lines


def _one(page: Page, incident: Incident) -> list[Line]:
    root = page.finding(incident.root)
    head = (Span("  "), page.glyph(STATE[root["severity"]]), Span(" "))
    lines = list(block(head, shown(incident.sentence), page.width))
    since = f"{local(root['first_seen']):%H:%M:%S}" if root["first_seen"] else ""
    parts = [
        say("{percent:.0f} % sure", percent=incident.confidence * 100),
        *([say("since {time}", time=since)] if since else []),
        root["fault"],
        say("incident {name}", name=incident.id),
    ]
    lines += block((Span("    "),), say(", ").join(parts), page.width, style="dim")
    lines += _evidence(page, root)
    lines += _follows(page, incident)
    if incident.rejected:
        lines += [(), page.text(say("ruled out"), indent=4)]
        for other in incident.rejected:
            lines += page.row("none", other.fault, other.why, indent=6)
    return lines + _changes(page, incident)


def _changes(page: Page, incident: Incident) -> list[Line]:
    """Return what was changed on the node before, and what would change the verdict."""
    lines: list[Line] = []
    if incident.changes_before:
        lines += [(), page.text(say("changed in the 24 h before"), indent=4)]
        for change in incident.changes_before:
            lines += block((Span(" " * 6),), shown(change), page.width)
    if incident.would_change:
        said = say("would change this: {what}", what=incident.would_change)
        lines += [(), *block((Span("    "),), shown(said), page.width, style="dim")]
    return lines


def _evidence(page: Page, root: dict[str, Any]) -> list[Line]:
    entries = _varied(root["evidence"])
    if not entries:
        return []
    lines = [(), page.text(say("evidence"), indent=4)]
    sources = [_source(entry) for entry in entries]
    stamps = [_stamp(entry) for entry in entries]
    time_width, source_width = max(map(cells, stamps)), min(max(map(cells, sources)), 40)
    for entry, source, stamp in zip(entries, sources, stamps, strict=True):
        lead = f"{stamp:<{time_width}}  " if time_width else ""
        if page.narrow or cells(source) > source_width:
            lines.append((Span(" " * 6), Span(f"{lead.strip() and lead}{source}", "dim")))
            head: tuple[Span, ...] = (Span(" " * 10),)
        else:
            head = (Span(" " * 6), Span(lead + pad(source, source_width), "dim"), Span("  "))
        lines += block(head, _said(entry), page.width)
    left = len(root["evidence"]) - len(entries)
    return (
        [*lines, page.text(say("and {left} more, in --json", left=left), indent=6)]
        if left
        else lines
    )


def _stamp(entry: dict[str, Any]) -> str:
    """Return the time of a line, unless its log does not say in which zone it is."""
    exact = (entry["time_error_s"] or 0.0) < HOUR
    return clock(entry["time"]) if entry["time"] and exact else ""


def _varied(evidence: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is shown: of many lines of one source the first two, sixty ranks say the same."""
    shown: list[dict[str, Any]] = []
    for entry in (e for e in evidence if _said(e)):
        alike = sum(other["source"] == entry["source"] for other in shown)
        if alike < MOST_ALIKE or entry["text"] is None:
            shown.append(entry)
    return shown[:MOST_EVIDENCE]


def _source(entry: dict[str, Any]) -> str:
    line = "" if entry["line"] is None else f" {entry['line']}"
    return shown(f"{entry['source']}{line}")


def _said(entry: dict[str, Any]) -> str:
    if entry["text"] is not None:
        return shown(entry["text"])
    values = {k: _listed(v) for k, v in entry["values"].items() if v not in (None, [], (), {})}
    return shown(", ".join(f"{name} {value}" for name, value in values.items()))


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name} {_listed(one)}" for name, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _follows(page: Page, incident: Incident) -> list[Line]:
    if not incident.consequences:
        return []
    lines = [(), page.text(say("follows from it"), indent=4)]
    for name in incident.consequences:
        finding = page.finding(name)
        lines += page.row(
            "follows", finding["fault"], finding["message"], indent=6, right=times(finding["count"])
        )
    return lines
