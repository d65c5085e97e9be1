"""The four stages: counts, and one line for everything that is not well."""

from collections import Counter

from agent.render.language import say
from agent.render.lines import Line, Span, cells, pad, shown, wrap
from agent.render.page import STATE, Page
from agent.render.words import duration
from diagnostics.document import CheckLine, StageReport

MOST_NOTES = 5
MOST_NAMES = 6
MOST_ALIKE = 2
DENIED = "denied"


def stages(page: Page) -> list[Line]:
    """Return the stages in the order in which they were walked."""
    lines = page.heading(say("Stages"))
    for number, stage in enumerate(page.document.stages, start=1):
        lines += _stage(page, number, stage)
    return lines


def _stage(page: Page, number: int, stage: StageReport) -> list[Line]:
    counts = _counts(page, stage)
    head = (
        Span(f"  {number}  "),
        page.glyph(_state(page, stage)),
        Span(f" {pad(say(stage.name), 10)} "),
    )
    indent = sum(cells(span.text) for span in head)
    right = page.ages.get(stage.name, "")
    if not right and stage.seconds is not None:
        right = duration(stage.seconds)
    summary = "   ".join(part for part in (pad(counts, 6), _headline(stage)) if part.strip())
    room = page.width - indent - cells(right) - 2
    first, *more = wrap(shown(summary), room)
    gap = page.width - indent - cells(first) - cells(right)
    lines: list[Line] = [(*head, Span(first), Span(" " * gap), Span(right, "dim"))]
    lines += [(Span(" " * indent), Span(line)) for line in more]
    return lines + _details(page, stage)


def _state(page: Page, stage: StageReport) -> str:
    if stage.verdict == "not_applicable":
        return "none"
    loud = [
        f for f in page.document.findings if f["stage"] == stage.name and f["severity"] != "info"
    ]
    if loud and all(f["explained_by"] for f in loud):
        return "follows"
    if stage.verdict == "ok" and any(check.verdict == "unknown" for check in stage.checks):
        return "ok" if not stage.held_back_by else "unknown"
    return stage.verdict


def _counts(page: Page, stage: StageReport) -> str:
    verdicts = Counter(check.verdict for check in stage.checks)
    loud = [
        f for f in page.document.findings if f["stage"] == stage.name and f["severity"] != "info"
    ]
    own = Counter(STATE[f["severity"]] for f in loud if not f["explained_by"])
    parts = [say("{count} ok", count=verdicts["ok"])] if verdicts["ok"] else []
    parts += [_plural(own[state], state) for state in ("fault", "warning") if own[state]]
    if follows := len(loud) - sum(own.values()):
        incident = page.incident_of(next(f["id"] for f in loud if f["explained_by"]))
        told = (
            "{count} follows from {incident}" if follows == 1 else "{count} follow from {incident}"
        )
        parts.append(say(told, count=follows, incident=incident))
    if verdicts["unknown"]:
        told = "{count} held back" if stage.held_back_by else "{count} not seen"
        parts.append(say(told, count=verdicts["unknown"]))
    return say(", ").join(parts)


def _plural(count: int, state: str) -> str:
    if state == "fault":
        return say("{count} fault" if count == 1 else "{count} faults", count=count)
    return say("{count} warning" if count == 1 else "{count} warnings", count=count)


def _headline(stage: StageReport) -> str:
    if stage.verdict not in ("ok", "not_applicable"):
        return ""
    wanted = "ok" if stage.verdict == "ok" else "not_applicable"
    nothing = "" if stage.checks else say("nothing to judge")
    return next((check.message for check in stage.checks if check.verdict == wanted), nothing)


def _details(page: Page, stage: StageReport) -> list[Line]:
    lines: list[Line] = []
    for finding in page.document.findings:
        if finding["stage"] == stage.name and finding["severity"] != "info":
            state = "follows" if finding["explained_by"] else STATE[finding["severity"]]
            lines += page.row(state, finding["fault"], finding["message"], indent=7)
    lines += _unseen(page, stage)
    for check in stage.checks if page.everything else ():
        if check.verdict in ("ok", "not_applicable"):
            state = "ok" if check.verdict == "ok" else "none"
            lines += page.row(state, check.check, check.message, indent=7)
    return lines


def _unseen(page: Page, stage: StageReport) -> list[Line]:
    """Return what could not be seen; checks that are blind for one reason share a line."""
    why: dict[str, list[str]] = {}
    for check in stage.checks:
        if check.verdict == "unknown" and (page.everything or not _denied(page, check)):
            why.setdefault(check.message, []).append(check.check)
    lines: list[Line] = []
    for message, checks in why.items():
        label = checks[0] if len(checks) == 1 else say("{count} checks", count=len(checks))
        named = f" ({', '.join(checks)})" if len(checks) > 1 and page.everything else ""
        lines += page.row("unknown", label, message + named, indent=7)
    return lines


def _denied(page: Page, check: CheckLine) -> bool:
    """Return whether the check is blind only because we are not root."""
    causes = {
        evidence["values"].get("cause")
        for finding in page.document.findings
        if finding["check"] == check.check and finding["fault"] == "check_not_run"
        for evidence in finding["evidence"]
    }
    return causes == {DENIED}


def unseen_as_user(page: Page) -> list[Line]:
    """Return the one line for all checks that need root, for an ordinary user."""
    if page.everything:
        return []
    blind = [
        check.check
        for stage in page.document.stages
        for check in stage.checks
        if check.verdict == "unknown" and _denied(page, check)
    ]
    if not blind:
        return []
    left = len(blind) - MOST_NAMES
    named = ", ".join(blind[:MOST_NAMES])
    if left > 0:
        named = say("{names} and {left} more", names=named, left=left)
    one = "1 check sees more as root (sudo gpudiag run): {names}"
    more = "{count} checks see more as root (sudo gpudiag run): {names}"
    text = say(one if len(blind) == 1 else more, count=len(blind), names=named)
    head = page.glyph("unknown")
    return [
        (head, Span(" "), Span(line)) if not number else (Span("  "), Span(line))
        for number, line in enumerate(wrap(text, page.width - 2))
    ]


def notes(page: Page) -> list[Line]:
    """Return what is worth knowing and no fault; what many subjects share is said once."""
    by_fault: dict[str, list[str]] = {}
    for finding in page.document.findings:
        if finding["severity"] == "info" and finding["fault"] != "check_not_run":
            by_fault.setdefault(finding["fault"], []).append(finding["message"])
    found = [
        said for alike in by_fault.values() for said in _folded(alike, everything=page.everything)
    ]
    if not found:
        return []
    if len(found) == 1:
        return [
            (Span(line),)
            for line in wrap(say("One note: {note}.", note=shown(found[0])), page.width)
        ]
    lines: list[Line] = [(Span(say("{count} notes", count=len(found)), "bold"),)]
    for message in found if page.everything else found[:MOST_NOTES]:
        lines += page.item("-", message)
    if len(found) > MOST_NOTES and not page.everything:
        lines.append(
            page.text(say("and {left} more: --all shows them", left=len(found) - MOST_NOTES))
        )
    return lines


def _folded(alike: list[str], *, everything: bool) -> list[str]:
    if everything or len(alike) <= MOST_ALIKE:
        return alike
    return [say("{first} (and {left} more like it)", first=alike[0], left=len(alike) - 1)]
