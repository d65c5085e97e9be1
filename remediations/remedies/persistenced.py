"""Start nvidia-persistenced again on a drained node."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import answer

FAULTS = frozenset({"persistence_mode_off"})
RISK = "the driver may unload its state in between: counters that are volatile begin at 0"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Start the service anew where the driver does not keep its state."""
    if incident is None or root is None or root.fault not in FAULTS:
        return None
    step = Step(
        verb="persistenced_restart",
        says="systemctl restart nvidia-persistenced",
        done="persistenced_state",
    )
    return answer(
        "persistenced.restart",
        situation,
        incident,
        root,
        (step,),
        verify=("gpu.modes",),
        risk=RISK,
    )


REMEDY = Remedy(
    name="persistenced.restart",
    does="starts nvidia-persistenced again, with the volatile counters saved before",
    faults=FAULTS,
    takes="gpu",
    precondition="drained by us, and nothing holds a GPU",
    risk=RISK,
    verification="persistence mode is on for all GPUs",
    cooldown_s=1800.0,
    deadline_s=600.0,
    verbs=frozenset({"persistenced_restart"}),
    propose=propose,
)
