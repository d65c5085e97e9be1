"""The plan as the document shows it: the remedy of each incident, and the steps of a person."""

from collections.abc import Mapping, Sequence

from diagnostics.document import Incident, PlanLine
from diagnostics.finding import Finding
from diagnostics.incidents import look, recovery
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.pages import Page
from remediations.plan.actions import Decision, Situation
from remediations.plan.decide import decide
from remediations.remedies import job_lines

NAME = "advise"
REASON = "no remedy acts on its own; these steps are for a person"
NAMED = "the rule that found it names this remedy; it does not act on its own"


def propose(situation: Situation, pages: Mapping[str, Page]) -> tuple[PlanLine, ...]:
    """Return a line for each incident whose fault has a page: its remedy, and the steps.

    The remedy is the one that the root's rule names, where it names one; else that of the first
    decision that acts, or of the first at all. First among the steps is what the GPU needs.
    """
    decisions = decide(situation)
    return tuple(
        _line(incident, root, page, situation, decisions)
        for incident in situation.incidents
        if (root := situation.finding(incident.root)) and (page := pages.get(named(root.fault)))
    )


def _line(
    incident: Incident,
    root: Finding,
    page: Page,
    situation: Situation,
    decisions: Sequence[Decision],
) -> PlanLine:
    remedy, decision, reason = _decided(incident, root, decisions)
    return PlanLine(
        remedy=remedy,
        incident=incident.id,
        decision=decision,
        reason=reason,
        steps=(
            *_recovery(root, situation.findings),
            *job_lines.lines(root, situation.network, pod=_in_pods(situation)),
            *(look.command(step, root, root.subject.node) for step in page.do),
        ),
        risk=page.never,
    )


def _in_pods(situation: Situation) -> bool:
    return situation.kubernetes is not None and situation.slurm is None


def _decided(
    incident: Incident, root: Finding, decisions: Sequence[Decision]
) -> tuple[str, str, str]:
    """Return remedy, decision and reason."""
    if root.remedies:
        return root.remedies[0], "advised", NAMED
    own = [one for one in decisions if one.action.incident == incident.fingerprint]
    if not own:
        return NAME, "advised", REASON
    told = next((one for one in own if one.verdict == "acts"), own[0])
    return told.action.remedy, told.verdict, told.reason


def _recovery(root: Finding, findings: Sequence[Finding]) -> tuple[str, ...]:
    advised = recovery.advice(root, findings)
    return () if advised is None else (recovery.step(advised),)
