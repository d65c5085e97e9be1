"""Answers of the aggregator for people: nodes, enrolments, maintenance, leases."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agent.render.lines import Line, Span, block, cells, shown
from agent.render.status import age
from agent.render.words import moment

STYLES = {
    "ok": "ok",
    "late": "warning",
    "lost": "fault",
    "maintenance": "dim",
    "warning": "warning",
    "fault": "fault",
    "unknown": "unknown",
    "critical": "fault",
    "info": "dim",
    "pending": "warning",
    "revoked": "dim",
}
GAP = "  "
Item = Mapping[str, Any]


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """Return a table whose last column takes the room that is left and wraps under itself.

    Words that name a state have its colour.
    """
    safe = [[shown(cell) for cell in row] for row in rows]
    wide = [max(map(cells, column)) for column in zip(headings, *safe, strict=True)][:-1]
    lines: list[Line] = []
    for number, row in enumerate([list(headings), *safe]):
        head = [
            Span(cell + " " * (most - cells(cell)) + GAP, STYLES.get(cell, "") if number else "dim")
            for cell, most in zip(row[:-1], wide, strict=True)
        ]
        lines += block(head, row[-1], width, style="" if number else "dim")
    return lines


def nodes(items: Sequence[Item], width: int) -> list[Line]:
    """Return all nodes, one row each, under a line that counts them."""
    if not items:
        return [(Span("no nodes"),)]
    states, verdicts = Counter(n["state"] for n in items), Counter(n["verdict"] for n in items)
    counted = [_count(states, STYLES), _count(verdicts, ("fault", "warning", "unknown"), "said ")]
    line = f"{len(items)} nodes: " + "; ".join(text for text in counted if text)
    headings = ("NODE", "STATE", "SAID", "HEARD", "")
    rows = [
        (n["node"], n["state"], n["verdict"], f"{age(n['age_s'])} ago", _note(n)) for n in items
    ]
    return [(Span(line, "bold"),), *columns(headings, rows, width)]


def hot(rises: Sequence[Item]) -> list[Line]:
    """Return a line for each place that gets hot as a whole."""
    return [(Span(f"{one['says']}, since {moment(one['since'])}", "bold"),) for one in rises]


def _count(
    counted: Mapping[str, int], order: Sequence[str] | Mapping[str, str], before: str = ""
) -> str:
    return ", ".join(f"{counted[name]} {before}{name}" for name in order if counted.get(name))


def _note(node: Item) -> str:
    notes = [*node["places"]]
    if node["maintenance_reason"]:
        notes.append(f"{node['maintenance_reason']}, until {moment(node['maintenance_until'])}")
    if node["simulated"]:
        notes.append("simulated")
    if node["dropped"]:
        notes.append(f"{node['dropped']} reports lost before they came")
    return ", ".join(notes)


def node(found: Item, width: int) -> list[Line]:
    """Return one node: its state, what it found, what it is made of, what was noticed of it."""
    head = f"{found['state']}, said {found['verdict']}, heard {age(found['age_s'])} ago"
    style = STYLES[found["verdict"] if found["state"] == "ok" else found["state"]]
    lines = list(block((Span(f"{shown(found['node'])}: ", "bold"),), head, width, style=style))
    if note := _note(found):
        lines += block((Span(GAP),), shown(note), width)
    findings = [(f["severity"], f["fault"], str(f.get("message", ""))) for f in found["findings"]]
    lines += _table("Findings", ("SEVERITY", "FAULT", ""), findings, width)
    parts = [
        (p["kind"], p["slot"], p["serial"], ", ".join(t for t in (p["model"], p["firmware"]) if t))
        for p in found["parts"]
    ]
    lines += _table("Parts", ("KIND", "SLOT", "SERIAL", ""), parts, width)
    lines += _table("Versions", ("WHAT", ""), sorted(found["versions"].items()), width)
    events = [(moment(e["time"]), e["text"]) for e in found["events"]]
    return lines + _table("Events", ("WHEN", ""), events, width)


def _table(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> list[Line]:
    return [(), (Span(title, "bold"),), *columns(headings, rows, width)] if rows else []


def enrolments(items: Sequence[Item], width: int) -> list[Line]:
    """Return names with their machines; who waits says since when."""
    rows = [
        (
            one["node"],
            one["state"],
            one["machine"],
            moment(one["enrolled"]),
            f"{one['pending_machine']} since {moment(one['pending_since'])}"
            if one["pending_machine"]
            else "",
        )
        for one in items
    ]
    headings = ("NODE", "STATE", "MACHINE", "ENROLLED", "WAITS")
    return columns(headings, rows, width) if rows else [(Span("no node is enrolled"),)]


def maintenances(items: Sequence[Item], width: int) -> list[Line]:
    """Return the nodes that people work on."""
    rows = [(one["node"], moment(one["until"]), one["by"], one["reason"]) for one in items]
    headings = ("NODE", "UNTIL", "BY", "REASON")
    return columns(headings, rows, width) if rows else [(Span("no node is under maintenance"),)]


def leases(held: Item, width: int) -> list[Line]:
    """Return the nodes that are out by us, under what holds acting back."""
    lines: list[Line] = [
        (Span(switch("all acting is paused", "acting is not paused", held["pause"])),),
        (Span(switch("the breaker is open", "the breaker is closed", held["breaker"])),),
    ]
    rows = [
        (one["node"], one["remedy"], moment(one["expires"]), one["id"], ", ".join(one["places"]))
        for one in held["items"]
    ]
    headings = ("NODE", "REMEDY", "UNTIL", "LEASE", "PLACES")
    return lines + (columns(headings, rows, width) if rows else [(Span("no node is out by us"),)])


def actions(items: Sequence[Item], width: int) -> list[Line]:
    """Return what was done to nodes and what was refused, one row each."""
    rows = [
        (moment(one["time"]), one["node"], one["what"], one["remedy"], one["reason"])
        for one in items
    ]
    headings = ("WHEN", "NODE", "WHAT", "REMEDY", "")
    return columns(headings, rows, width) if rows else [(Span("nothing was done to any node"),)]


def switch(on: str, off: str, found: Item) -> str:
    """Return how a switch stands, since when and by whom."""
    said = on if found["on"] else off
    if found["since"] is None:
        return said
    return (
        f"{said} since {moment(found['since'])}, by {shown(found['by'])}: {shown(found['reason'])}"
    )
