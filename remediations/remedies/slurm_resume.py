"""Give the node back to Slurm: only a drain of ours, and only once its cause is gone."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import give_back
from remediations.plan.needs import fit
from remediations.plan.scheduler import returnable

NAME = "slurm.resume"
RISK = "the next job gets the node: a fault that only shows under load shows there"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Resume a node that we drained, where no incident stands any more."""
    del incident, root
    slurm = situation.slurm
    if slurm is None or not returnable(slurm) or not fit(situation):
        return None
    step = Step(
        verb="slurm_resume",
        args={"reason": slurm.reason or ""},
        says=f"scontrol update NodeName={slurm.name} State=RESUME",
        done="slurm_resumed",
        undo=Step(
            verb="slurm_drain",
            args={"reason": slurm.reason or ""},
            says="drain it again, with the reason that it had",
            done="slurm_drained",
        ),
    )
    return give_back(NAME, situation, slurm.name, slurm.reason, step, risk=RISK)


REMEDY = Remedy(
    name=NAME,
    does="resumes the node in Slurm",
    about="node",
    takes="nothing",
    precondition="it is drained with our reason, or down after our reboot, and all is seen well",
    risk=RISK,
    verification="Slurm says IDLE, and the reason is gone",
    cooldown_s=900.0,
    deadline_s=1800.0,
    verbs=frozenset({"slurm_resume", "slurm_drain"}),
    propose=propose,
)
