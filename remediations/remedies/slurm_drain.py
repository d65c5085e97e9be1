"""Take the node out of Slurm's use: jobs that run go on, no new one comes."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import answer, reason
from remediations.plan.needs import repairs
from remediations.plan.scheduler import out

RISK = "no new job starts on the node until it is resumed; those that run go on"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Drain a node that Slurm uses, where the fault needs it out."""
    slurm = situation.slurm
    if incident is None or root is None or slurm is None or out(slurm):
        return None
    if "out" not in repairs(situation, root):
        return None
    why = reason(incident, root)
    step = Step(
        verb="slurm_drain",
        args={"reason": why},
        says=f'scontrol update NodeName={slurm.name} State=DRAIN Reason="{why}"',
        undo=Step(
            verb="slurm_resume",
            args={"reason": why},
            says="resume it, if it is still ours",
            done="slurm_resumed",
        ),
        done="slurm_drained",
    )
    return answer("slurm.drain", situation, incident, root, (step,), verify=(), risk=RISK)


REMEDY = Remedy(
    name="slurm.drain",
    does="drains the node in Slurm, with a reason that begins with gpudiag:",
    takes="node",
    precondition="Slurm has the node in use, and nobody else has taken it out",
    risk=RISK,
    verification="Slurm says DRAIN with our reason",
    cooldown_s=900.0,
    deadline_s=600.0,
    verbs=frozenset({"slurm_drain", "slurm_resume"}),
    propose=propose,
)
