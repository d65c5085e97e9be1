"""Start fabric manager again on a drained node: stop, reset all GPUs, start, wait for state 3."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import answer
from remediations.plan.needs import repairs
from remediations.remedies.checks import GPUS
from remediations.remedies.report import BUG_REPORT, VERB

RISK = "every GPU of the node is reset, and volatile counters are lost"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Set the fabric up anew."""
    if incident is None or root is None or "fabric_manager" not in repairs(situation, root):
        return None
    step = Step(
        verb="fabric_manager_restart",
        says="stop nvidia-fabricmanager, reset all GPUs, start it, wait for the fabric",
        done="fabric_state",
    )
    return answer(
        "fabric_manager.restart",
        situation,
        incident,
        root,
        (BUG_REPORT, step),
        verify=GPUS,
        risk=RISK,
    )


REMEDY = Remedy(
    name="fabric_manager.restart",
    does="stops fabric manager, resets all GPUs, starts it and waits for the fabric",
    takes="node",
    precondition="drained by us, nothing holds a GPU, its version equals the driver's exactly",
    risk=RISK,
    verification="the fabric's state is completed on all GPUs",
    cooldown_s=1800.0,
    deadline_s=1800.0,
    verbs=frozenset({VERB, "fabric_manager_restart"}),
    propose=propose,
)
