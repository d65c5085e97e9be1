"""Put a job back into the queue: only one that allows it, and that is certainly dead."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import answer
from remediations.plan.needs import repairs
from remediations.plan.scheduler import ours

RISK = "what it did since its last checkpoint is done again; one that shrinks would have gone on"
MOST = 8


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Requeue what lost its ranks on a node that drains for us, by a fault that takes it out."""
    slurm, lost = situation.slurm, situation.lost_jobs[:MOST]
    if incident is None or root is None or slurm is None or not lost:
        return None
    if not ours(slurm) or "out" not in repairs(situation, root):
        return None
    steps = tuple(
        Step(
            verb="slurm_requeue",
            args={"job": job},
            says=f"scontrol requeue {job}",
            done="slurm_requeued",
        )
        for job in lost
    )
    return answer("slurm.requeue", situation, incident, root, steps, verify=(), risk=RISK)


REMEDY = Remedy(
    name="slurm.requeue",
    does="requeues the job that the fault killed",
    takes="process",
    precondition="drained by us; the job allows it (Requeue=1), and no process of it is left here",
    risk=RISK,
    verification="Slurm lists the job as pending, or running elsewhere",
    cooldown_s=900.0,
    deadline_s=600.0,
    verbs=frozenset({"slurm_requeue"}),
    propose=propose,
)
