"""From findings to incidents: who is explained by whom, and what is left as a root."""

import hashlib
import math
from collections.abc import Iterable, Sequence

import msgspec

from collectors.facts.subject import Subject
from diagnostics.document import Incident, NextStep
from diagnostics.finding import RANK, STAGES, Evidence, Finding, Text
from diagnostics.incidents import look
from diagnostics.incidents.edge import Edge
from diagnostics.incidents.edges import EDGES
from diagnostics.incidents.training import ENDS
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.pages import Page


def explain(findings: Sequence[Finding], edges: Iterable[Edge] = EDGES) -> tuple[Finding, ...]:
    """Return the findings with `explained_by` set to the id of the nearest cause.

    A note (severity info) explains nothing above it: it must not hide a fault. A finding that could
    explain itself through a ring of edges stays unexplained.
    """
    by_pair: dict[tuple[str, str], list[Edge]] = {}
    for edge in edges:
        by_pair.setdefault((edge.cause, edge.consequence), []).append(edge)
    cause_of: dict[str, str] = {}
    for finding in findings:
        for cause in sorted(findings, key=_weight):
            between = by_pair.get((cause.fault, finding.fault), ())
            if _quieter(cause, finding) or not any(_leads(e, cause, finding) for e in between):
                continue
            if finding.id not in _chain(cause.id, cause_of):
                cause_of[finding.id] = cause.id
                break
    return tuple(msgspec.structs.replace(f, explained_by=cause_of.get(f.id)) for f in findings)


def _leads(edge: Edge, cause: Finding, finding: Finding) -> bool:
    if _alike(edge) and _weight(cause) > _weight(finding):
        return False
    return _joined(edge, cause, finding) and _in_time(edge, cause, finding)


def _in_time(edge: Edge, cause: Finding, consequence: Finding) -> bool:
    if edge.within_s is None:
        return True
    then, now = _span(cause), _span(consequence)
    if then is None or now is None:
        return edge.same != "node"
    return then[0] <= now[0] <= then[1] + edge.within_s


def _span(finding: Finding) -> tuple[float, float] | None:
    """Return when it began and was last seen; a log without a wall clock counts from its end."""
    if finding.first_seen is not None:
        return finding.first_seen, finding.last_seen or finding.first_seen
    values = finding.evidence[0].values if finding.evidence else {}
    began, last = values.get("age_s"), values.get("last_age_s")
    if not isinstance(began, int | float) or not isinstance(last, int | float):
        return None
    return -began, -last


def _quieter(cause: Finding, finding: Finding) -> bool:
    return cause.severity == "info" and finding.severity != "info" and not _end(cause)


def _alike(edge: Edge) -> bool:
    """Return whether it joins two words for one thing, of which either could explain the other."""
    return edge.cause == edge.consequence and edge.same != "whole"


def _chain(start: str, cause_of: dict[str, str]) -> list[str]:
    chain = [start]
    while (above := cause_of.get(chain[-1])) is not None:
        chain.append(above)
    return chain


def _joined(edge: Edge, cause: Finding, consequence: Finding) -> bool:
    if edge.same == "node":
        return True
    if edge.same in ("log", "above"):
        of_logs = cause.stage == consequence.stage == "training"
        return of_logs and (edge.same == "log" or _stands_above(cause, consequence))
    if edge.same == "whole":
        of_part = cause.subject.kind != "node" or cause.fault != consequence.fault
        return consequence.subject.kind == "node" and of_part
    if edge.same == "subject":
        return (cause.subject.kind, cause.subject.name) == (
            consequence.subject.kind,
            consequence.subject.name,
        )
    return getattr(cause.subject, edge.same) is not None and getattr(
        cause.subject, edge.same
    ) == getattr(consequence.subject, edge.same)


def _stands_above(cause: Finding, consequence: Finding) -> bool:
    """Return whether it was told first: by its line in one log, by its time in several."""
    one, other = _quote(cause), _quote(consequence)
    if one is not None and other is not None and one.source == other.source:
        return (one.line or 0) < (other.line or 0)
    then, now = cause.first_seen, consequence.first_seen
    return then is not None and now is not None and then < now


def _quote(finding: Finding) -> Evidence | None:
    return next((evidence for evidence in finding.evidence if evidence.line is not None), None)


def _line(finding: Finding) -> int:
    """Return where a job's log tells it first; elsewhere lines tell no order."""
    quote = _quote(finding) if finding.stage == "training" else None
    return 0 if quote is None else quote.line or 0


def _weight(finding: Finding) -> tuple[int, int, float, int, float, str]:
    """Order causes: the graver, the earlier in the walk, the surer, the one that began first."""
    span = _span(finding)
    return (
        -RANK[finding.severity],
        STAGES.index(finding.stage),
        -finding.confidence,
        _line(finding),
        span[0] if span else math.inf,
        finding.id,
    )


def root_causes(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the ids of findings that nothing explains, most likely first.

    Notes are left out, but for ends that are nobody's fault: they too say why a job is over.
    """
    roots = [f for f in findings if f.explained_by is None and (f.severity != "info" or _end(f))]
    return tuple(f.id for f in sorted(roots, key=_weight))


def _end(finding: Finding) -> bool:
    return finding.fault in ENDS and finding.stage == "training"


def incidents(
    findings: Sequence[Finding], node: str | None, pages: dict[str, Page], opened: str | None
) -> tuple[Incident, ...]:
    """Return one incident for each root cause, gravest first."""
    by_id = {finding.id: finding for finding in findings}
    cause_of = {f.id: f.explained_by for f in findings if f.explained_by}
    incidents = []
    roots = [root for i in root_causes(findings) if (root := by_id[i]).severity != "info"]
    for number, root in enumerate(roots, start=1):
        follows = tuple(f.id for f in findings if root.id in _chain(f.id, cause_of)[1:])
        incidents.append(
            Incident(
                id=f"i{number}",
                fingerprint=fingerprint(node, root.fault, root.subject),
                opened=opened,
                subject=root.subject,
                root=root.id,
                consequences=follows,
                echoes=_echoes([root, *(by_id[i] for i in follows)]),
                sentence=_sentence(root, len(follows)),
                text=Text(key=f"incident.{root.text.key}", args=root.text.args),
                confidence=root.confidence,
                next=_next(root, node, pages),
                would_change="",
            )
        )
    return tuple(incidents)


def fingerprint(node: str | None, fault: str, subject: Subject) -> str:
    """Return the incident's name over time: the same fault of the same thing, 16 hex digits."""
    parts = "\0".join((node or "", fault, subject.kind, subject.name, subject.job or ""))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _echoes(findings: Iterable[Finding]) -> dict[str, int]:
    return {f.rule or f.fault: f.count for f in findings if f.count > 1}


def _sentence(root: Finding, follows: int) -> str:
    sentence = root.message
    # A process or file that stands first keeps its own spelling.
    if not any(str(value) and sentence.startswith(str(value)) for value in root.text.args.values()):
        sentence = sentence[:1].upper() + sentence[1:]
    if follows:
        what = "1 other finding follows" if follows == 1 else f"{follows} other findings follow"
        return f"{sentence}; {what} from it."
    return f"{sentence}."


def _next(root: Finding, node: str | None, pages: dict[str, Page]) -> tuple[NextStep, ...]:
    page = pages.get(named(root.fault))
    if page is None:
        return ()
    return (NextStep(why=page.title, command=look.command(page.look, root, node)),)
