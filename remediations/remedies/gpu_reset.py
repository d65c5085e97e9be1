"""Reset a GPU, or all of them with their switches, on a drained node."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import answer
from remediations.plan.needs import repairs
from remediations.remedies.checks import GPUS
from remediations.remedies.report import BUG_REPORT, VERB

RISK = "volatile counters are lost; a MIG instance with several compute instances gets one"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Reset the GPU of the root; all together where the fabric needs it."""
    if incident is None or root is None:
        return None
    wanted = repairs(situation, root)
    if "reset_all" in wanted:
        gpus: list[str] = []
        says = "nvidia-smi --gpu-reset: all GPUs and switches together"
    elif "reset" in wanted and root.subject.kind == "gpu":
        gpus = [root.subject.name]
        says = f"nvidia-smi -i {root.subject.name} --gpu-reset"
    else:
        return None
    step = Step(verb="gpu_reset", args={"gpus": gpus}, says=says, done="gpus_were_reset")
    return answer(
        "gpu.reset", situation, incident, root, (BUG_REPORT, step), verify=GPUS, risk=RISK
    )


REMEDY = Remedy(
    name="gpu.reset",
    does="resets the GPU, all together where they share a fabric that needs it",
    takes="gpu",
    precondition="drained by us, no job completes, and nothing else holds a GPU in any namespace",
    risk=RISK,
    verification="all GPUs answer, recovery action none, links and fabric up, settings put back",
    cooldown_s=1800.0,
    deadline_s=1800.0,
    verbs=frozenset({VERB, "gpu_reset"}),
    propose=propose,
)
