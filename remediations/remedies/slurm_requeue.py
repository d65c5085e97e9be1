"""Put a job back into the queue: only one that allows it, and that is certainly dead."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Remedy, Situation

RISK = "what the job did since its last checkpoint is done again"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> None:
    """Propose nothing: what is known of a job here does not say that it is certainly dead."""
    del situation, incident, root


REMEDY = Remedy(
    name="slurm.requeue",
    does="requeues the job that the fault killed",
    takes="process",
    precondition="the job allows it (Requeue=1), and none of its processes is left",
    risk=RISK,
    verification="Slurm lists the job as pending, or running elsewhere",
    cooldown_s=900.0,
    deadline_s=600.0,
    verbs=frozenset({"slurm_requeue"}),
    propose=propose,
)
