"""`gpudiag remediate` for people: what would be done about each incident, and why it is or not."""

from collections.abc import Iterable, Sequence

from agent.render.lines import Line, Span, block, edge, shown
from agent.render.words import ASCII, GLYPHS
from diagnostics.document import Document
from remediations.plan.actions import Decision, Remedy
from remediations.policy import PATH

STATE = {"acts": "ok", "waits": "unknown", "refused": "warning", "advised": "none"}
VERBS = {
    "acts": "would act",
    "waits": "waits",
    "refused": "refused",
    "advised": "advised",
    "observed": "observed",
}


def draw(
    document: Document,
    decisions: Sequence[Decision],
    notes: Iterable[str],
    width: int,
    *,
    ascii_only: bool,
) -> list[Line]:
    """Return the page as lines: by incident, then what is about the node, then what lacked."""
    glyphs = ASCII if ascii_only else GLYPHS
    head = (Span(f"What could be done on {shown(document.node or 'this node')}", "bold"),)
    lines: list[Line] = [edge(head, "nothing is done yet", width)]
    names: dict[str | None, str] = {
        one.fingerprint: f"{one.id}, {_fault(document, one.root)} of {one.subject.kind}"
        f" {one.subject.name}"
        for one in document.incidents
    }
    names[None] = "the node itself"
    for fingerprint, title in names.items():
        own = [one for one in decisions if one.action.incident == fingerprint]
        if fingerprint is None and not own:
            continue
        lines += [(), *block((Span("  "),), shown(title), width)]
        for one in own:
            lines += _decision(one, width, glyphs)
        if not own:
            said = "no remedy answers this; gpudiag explain says what a person does"
            lines += block((Span("    "),), said, width, style="dim")
    if not document.incidents and len(lines) == 1:
        lines += [(), (Span("  no incident stands: there is nothing to do"),)]
    return lines + _notes(notes, width)


def remedy(row: Remedy, width: int) -> list[Line]:
    """Return the page of a remedy."""
    right = f"remedy, takes {row.takes}, proved: {row.proved}"
    lines: list[Line] = [edge((Span(row.name, "bold"),), right, width), ()]
    lines += block((Span("  "),), f"gpudiag {row.does}.", width)
    by_fault = ", ".join(sorted(row.faults))
    often = (
        f"not again for {row.cooldown_s / 60:.0f} min; done within {row.deadline_s / 60:.0f} min"
    )
    told = {
        "Only if": row.precondition,
        "Risk": row.risk,
        "Verified": row.verification,
        "Answers": by_fault or "what the driver's word, the codes or the fault call for",
        "How often": often,
        "Turn on": f'[mode] "{row.name}" = "act" in {PATH}',
    }
    for label, text in told.items():
        style = "bold" if label == "Turn on" else ""
        lines += block((Span(f"  {label:<12}", "dim"),), text, width, style=style)
    return lines


def _fault(document: Document, root: str) -> str:
    return next((str(one["fault"]) for one in document.findings if one["id"] == root), root)


def _decision(decision: Decision, width: int, glyphs: dict[str, str]) -> list[Line]:
    state = STATE.get(decision.verdict, "none")
    mark = Span(glyphs[state], state if state != "none" else "")
    name = Span(f" {decision.action.remedy}", "bold")
    said = f"{VERBS[decision.verdict]}: {decision.reason}"
    lines: list[Line] = [(Span("    "), mark, name)]
    lines += block((Span("      "),), shown(said), width)
    for number, step in enumerate(decision.action.steps, start=1):
        lines += block((Span(f"      {number}. "),), shown(step.says), width, style="bold")
    if decision.action.risk:
        lines += block((Span("      "),), shown(f"risk: {decision.action.risk}"), width)
    if decision.action.verify:
        checks = f"afterwards well: {', '.join(decision.action.verify)}"
        lines += block((Span("      "),), shown(checks), width, style="dim")
    return lines


def _notes(notes: Iterable[str], width: int) -> list[Line]:
    lines = [line for one in notes for line in block((Span("  - "),), shown(one), width)]
    return [(), *lines] if lines else []
