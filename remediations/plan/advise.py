"""The remedy that changes nothing: steps for a person, from the fault's page."""

from collections.abc import Mapping, Sequence

from diagnostics.document import Incident, PlanLine
from diagnostics.finding import Finding
from diagnostics.incidents import look, recovery
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.pages import Page

NAME = "advise"
REASON = "no remedy acts on its own; these steps are for a person"
NAMED = "the rule that found it names this remedy; it does not act on its own"


def propose(
    incidents: Sequence[Incident], findings: Sequence[Finding], pages: Mapping[str, Page]
) -> tuple[PlanLine, ...]:
    """Return the steps for each incident whose fault has a page, first what its GPU needs.

    The remedy is the one that the root's rule names, where it names one.
    """
    by_id = {finding.id: finding for finding in findings}
    return tuple(
        PlanLine(
            remedy=next(iter(root.remedies), NAME),
            incident=incident.id,
            decision="advised",
            reason=NAMED if root.remedies else REASON,
            steps=(
                *_recovery(root, findings),
                *(look.command(step, root, root.subject.node) for step in page.do),
            ),
            risk=page.never,
        )
        for incident in incidents
        if (root := by_id[incident.root]) and (page := pages.get(named(root.fault)))
    )


def _recovery(root: Finding, findings: Sequence[Finding]) -> tuple[str, ...]:
    advised = recovery.advice(root, findings)
    return () if advised is None else (recovery.step(advised),)
