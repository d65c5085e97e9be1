"""From findings to incidents: who is explained by whom, and what is left as a root."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from collectors.facts.subject import Subject
from diagnostics.document import Incident
from diagnostics.finding import RANK, Finding, Text
from diagnostics.incidents import clauses, outlook, sentence
from diagnostics.incidents.board import Board
from diagnostics.incidents.edge import Edge
from diagnostics.incidents.edges import EDGES
from diagnostics.incidents.outlook import Looked
from diagnostics.incidents.rank import is_end, is_meant
from diagnostics.knowledge.pages import Page

MAINTENANCE = "node_under_maintenance"


def explain(
    findings: Sequence[Finding], edges: Iterable[Edge] = EDGES, now: float | None = None
) -> tuple[Finding, ...]:
    """Return the findings with `explained_by` set to the id of the likeliest cause.

    A note (severity info) explains nothing above it: it must not hide a fault. In a ring of edges
    the likeliest cause stays unexplained. *now* is the wall clock of the look, for ages.
    """
    into: dict[str, list[Edge]] = {}
    for edge in edges:
        into.setdefault(edge.consequence, []).append(edge)
    board = Board(findings, now)
    cause_of: dict[str, str] = {}
    # The least likely cause finds its own first, so that a ring opens at the likeliest.
    for finding in reversed(board.ordered):
        cause = _cause(board, finding, into.get(finding.fault, ()), cause_of)
        if cause is not None:
            cause_of[finding.id] = cause.id
    return tuple(msgspec.structs.replace(f, explained_by=cause_of.get(f.id)) for f in findings)


def _cause(
    board: Board, finding: Finding, edges: Iterable[Edge], cause_of: Mapping[str, str]
) -> Finding | None:
    """Return the likeliest cause of a finding that does not follow from it in turn."""
    best: Finding | None = None
    for edge in edges:
        for cause in board.causes(edge, finding):
            if best is not None and board.weight(best) <= board.weight(cause):
                break
            if not _quieter(cause, finding) and finding.id not in _chain(cause.id, cause_of):
                best = cause
                break
    return best


def _quieter(cause: Finding, finding: Finding) -> bool:
    return RANK[cause.severity] == 0 < RANK[finding.severity] and not is_meant(cause)


def _chain(start: str, cause_of: Mapping[str, str]) -> list[str]:
    chain = [start]
    while (above := cause_of.get(chain[-1])) is not None:
        chain.append(above)
    return chain


def root_causes(findings: Sequence[Finding], now: float | None = None) -> tuple[str, ...]:
    """Return the ids of findings that nothing explains, most likely first.

    Notes are left out, but for what was meant: the end of a job says why it is over, and a cap of
    ours why what follows from it is slow.
    """
    return tuple(root.id for root in _roots(Board(findings, now)))


def _roots(board: Board) -> list[Finding]:
    free = (finding for finding in board.ordered if finding.explained_by is None)
    led = {finding.explained_by for finding in board.ordered}
    return [
        finding
        for finding in free
        if finding.severity != "info"
        or is_end(finding)
        or (is_meant(finding) and finding.id in led)
    ]


def incidents(
    findings: Sequence[Finding],
    node: str | None,
    pages: Mapping[str, Page],
    opened: str | None,
    *,
    now: float | None = None,
    looked: Sequence[Looked] = (),
) -> tuple[Incident, ...]:
    """Return one incident for each root cause, gravest first.

    *looked* is what each check saw: it says which other causes are ruled out, and which unseen.
    Of a node that people work on there is none: what they do looks like any fault.
    """
    if any(finding.fault == MAINTENANCE for finding in findings):
        return ()
    board = Board(findings, now)
    follows = _follows(findings)
    roots = [root for root in _roots(board) if root.severity != "info"]
    sight = outlook.Sight(board, looked, pages, node)
    return tuple(
        _incident(f"i{number}", root, follows.get(root.id, []), opened, sight)
        for number, root in enumerate(roots, start=1)
    )


def _follows(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Return what follows from each root, in the order of the findings."""
    cause_of = {f.id: f.explained_by for f in findings if f.explained_by}
    follows: dict[str, list[Finding]] = {}
    for finding in findings:
        root = _chain(finding.id, cause_of)[-1]
        if root != finding.id:
            follows.setdefault(root, []).append(finding)
    return follows


def _incident(
    name: str, root: Finding, follows: Sequence[Finding], opened: str | None, sight: outlook.Sight
) -> Incident:
    told = sentence.clauses(root, follows)
    seen = sight.of(root, follows)
    changes = sight.changes_before(root, follows)
    return Incident(
        id=name,
        fingerprint=fingerprint(sight.node, root.fault, root.subject),
        opened=opened,
        subject=root.subject,
        root=root.id,
        consequences=tuple(f.id for f in follows),
        echoes=_echoes([root, *follows]),
        sentence=sentence.written(root, told),
        text=Text(key=f"incident.{root.text.key}", args=root.text.args),
        story=tuple(told),
        confidence=root.confidence,
        rejected=seen.rejected,
        changes_before=clauses.listed(changes),
        changes=changes,
        next=seen.next,
        would_change=clauses.said(seen.would_change),
        would_change_text=seen.would_change,
        resubmit=sight.resubmit(root, follows),
    )


def fingerprint(node: str | None, fault: str, subject: Subject) -> str:
    """Return the incident's name over time: the same fault of the same thing, 16 hex digits."""
    parts = "\0".join((node or "", fault, subject.kind, subject.name, subject.job or ""))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:16]


def _echoes(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how often was said what was said more than once, by its rule or fault."""
    counts: dict[str, int] = {}
    for finding in findings:
        name = finding.rule or finding.fault
        counts[name] = counts.get(name, 0) + finding.count
    return {name: count for name, count in counts.items() if count > 1}
