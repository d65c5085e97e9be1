"""Make the action of a remedy: what all of them say in the same way."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from diagnostics.knowledge.aliases import named
from remediations.plan.actions import Action, Situation, Step, key
from remediations.plan.scheduler import PREFIX, fault_of
from remediations.remedies.checks import NODE

MOST_WORDS = 120


def answer(
    remedy: str,
    situation: Situation,
    incident: Incident,
    root: Finding,
    steps: tuple[Step, ...],
    *,
    verify: tuple[str, ...],
    risk: str,
) -> Action:
    """Return what *remedy* would do about *incident*; *verify* must be seen well afterwards.

    What only takes the node out repairs nothing: it has nothing to verify but its own steps.
    """
    fault = named(root.fault)
    subject = f"{root.subject.kind} {root.subject.name}"
    return Action(
        key=key(remedy, situation, fault, subject),
        remedy=remedy,
        incident=incident.fingerprint,
        fault=fault,
        subject=subject,
        serial=root.subject.serial,
        signature=fault,
        steps=steps,
        verify=verify,
        risk=risk,
    )


def give_back(
    remedy: str, situation: Situation, name: str, why: str | None, step: Step, *, risk: str
) -> Action:
    """Return what gives node *name* back, which we took out with the reason *why*."""
    fault = fault_of(why) or "unknown"
    return Action(
        key=key(remedy, situation, fault, why or ""),
        remedy=remedy,
        fault=fault,
        subject=f"node {name}",
        signature=fault,
        steps=(step,),
        verify=NODE,
        risk=risk,
    )


def reason(incident: Incident, root: Finding) -> str:
    """Return what is written where others read why we took the node out.

    gpudiag: gpu_fell_off_bus gpu 0000:4e:00.0 incident 0f3a5c7e9b1d2460
    """
    said = f"{PREFIX} {named(root.fault)} {root.subject.kind} {root.subject.name}"
    return f"{said[:MOST_WORDS]} incident {incident.fingerprint}"
