"""Which of several findings is the likelier cause: evidence, then how near it is to the thing."""

import math

from diagnostics.finding import RANK, STAGES, Evidence, Finding
from diagnostics.incidents.align import Span
from diagnostics.incidents.training import ENDS

# What this agent does to a node, and tells as a note.
OWN = frozenset({"thermal_throttling_active"})

Weight = tuple[int, int, float, int, int, float, tuple[str, ...], str]


def weight(finding: Finding, span: Span | None) -> Weight:
    """Order causes, the likeliest first.

    The graver, the earlier in the walk (a kernel or a BMC is better evidence than a job's own
    text), the surer, the one that a log tells first, the one that names a thing and not the whole
    node, the one that began first. What else is found on the node changes no order of two.
    """
    return (
        -RANK[finding.severity],
        STAGES.index(finding.stage),
        -finding.confidence,
        _line(finding),
        finding.subject.kind == "node",
        span.began if span else math.inf,
        content(finding),
        finding.id,
    )


def content(finding: Finding) -> tuple[str, ...]:
    """Return what tells it from others in each walk: its id counts what stands before it."""
    subject = finding.subject
    names = (finding.check, finding.fault, subject.kind, subject.name)
    return (*names, finding.rule or "", finding.message)


def is_end(finding: Finding) -> bool:
    """Return whether it is an end of a job that is nobody's fault."""
    return finding.fault in ENDS and finding.stage == "training"


def is_meant(finding: Finding) -> bool:
    """Return whether somebody meant it: an end of a job, or a cap of our own.

    That is no fault, and yet the cause of what follows from it.
    """
    return finding.fault in OWN or is_end(finding)


def quote(finding: Finding) -> Evidence | None:
    """Return the first line of text that it quotes."""
    return next((evidence for evidence in finding.evidence if evidence.line is not None), None)


def _line(finding: Finding) -> int:
    """Return where a job's log tells it first; elsewhere lines tell no order."""
    quoted = quote(finding) if finding.stage == "training" else None
    return 0 if quoted is None else quoted.line or 0
