"""`gpudiag remediate` for people: what would be done about each incident, and why it is or not."""

from collections.abc import Iterable, Sequence

from agent.render.language import say, sentence
from agent.render.lines import Line, Span, block, edge, pad, shown
from agent.render.told import told
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
    document = told(document)
    node = shown(document.node or say("this node"))
    head = (Span(say("What could be done on {node}", node=node), "bold"),)
    lines: list[Line] = [edge(head, say("nothing is done yet"), width)]
    names: dict[str | None, str] = {
        one.fingerprint: say(
            "{incident}, {fault} of {kind} {name}",
            incident=one.id,
            fault=_fault(document, one.root),
            kind=one.subject.kind,
            name=one.subject.name,
        )
        for one in document.incidents
    }
    names[None] = say("the node itself")
    for fingerprint, title in names.items():
        own = [one for one in decisions if one.action.incident == fingerprint]
        if fingerprint is None and not own:
            continue
        lines += [(), *block((Span("  "),), shown(title), width)]
        for one in own:
            lines += _decision(one, width, glyphs)
        if not own:
            said = say("no remedy answers this; gpudiag explain says what a person does")
            lines += block((Span("    "),), said, width, style="dim")
    if not document.incidents and len(lines) == 1:
        lines += [(), *block((Span("  "),), _none(document), width)]
    return lines + _notes(notes, width)


def _none(document: Document) -> str:
    """Return that there is nothing to do, which who saw too little does not know."""
    blind = [c for stage in document.stages for c in stage.checks if c.verdict == "unknown"]
    if not blind:
        return say("no incident stands: there is nothing to do")
    some = ", ".join(check.check for check in blind[:3]) + (", ..." if len(blind) > 3 else "")  # noqa: PLR2004 - three names are read
    return say("no incident was seen, but too little was seen for {checks}", checks=some)


def remedy(row: Remedy, width: int) -> list[Line]:
    """Return the page of a remedy."""
    right = say("remedy, takes {what}, proved: {how}", what=row.takes, how=row.proved)
    lines: list[Line] = [edge((Span(row.name, "bold"),), right, width), ()]
    lines += block((Span("  "),), f"gpudiag {sentence(row.does)}{say('.')}", width)
    by_fault = ", ".join(sorted(row.faults))
    often = say(
        "not again for {rest:.0f} min; done within {most:.0f} min",
        rest=row.cooldown_s / 60,
        most=row.deadline_s / 60,
    )
    about = {
        "Only if": sentence(row.precondition),
        "Risk": sentence(row.risk),
        "Verified": sentence(row.verification),
        "Answers": by_fault or say("what the driver's word, the codes or the fault call for"),
        "How often": often,
        "Turn on": f'[mode] "{row.name}" = "act" in {PATH}',
    }
    for label, text in about.items():
        style = "bold" if label == "Turn on" else ""
        lines += block((Span(pad("  " + say(label), 14), "dim"),), text, width, style=style)
    return lines


def _fault(document: Document, root: str) -> str:
    return next((str(one["fault"]) for one in document.findings if one["id"] == root), root)


def _decision(decision: Decision, width: int, glyphs: dict[str, str]) -> list[Line]:
    state = STATE.get(decision.verdict, "none")
    mark = Span(glyphs[state], state if state != "none" else "")
    name = Span(f" {decision.action.remedy}", "bold")
    said = f"{say(VERBS[decision.verdict])}{say(': ')}{sentence(decision.reason)}"
    lines: list[Line] = [(Span("    "), mark, name)]
    lines += block((Span("      "),), shown(said), width)
    for number, step in enumerate(decision.action.steps, start=1):
        lines += block(
            (Span(f"      {number}. "),), shown(sentence(step.says)), width, style="bold"
        )
    if decision.action.risk:
        risk = say("risk: {what}", what=decision.action.risk)
        lines += block((Span("      "),), shown(risk), width)
    if decision.action.verify:
        checks = say("afterwards well: {checks}", checks=", ".join(decision.action.verify))
        lines += block((Span("      "),), shown(checks), width, style="dim")
    return lines


def _notes(notes: Iterable[str], width: int) -> list[Line]:
    lines = [line for one in notes for line in block((Span("  - "),), shown(sentence(one)), width)]
    return [(), *lines] if lines else []
