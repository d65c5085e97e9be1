"""Lower the power limit of a GPU that is too hot; heat/ decides when and by how much."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from diagnostics.knowledge.aliases import named
from remediations.plan.actions import Action, Remedy, Situation
from remediations.plan.answer import answer

FAULTS = frozenset({"gpu_thermal_margin_low", "gpu_thermal_throttle"})
RISK = "every step of the job takes longer while the limit is lower"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Say that heat is held; the service that samples the GPUs does it, step by step."""
    if incident is None or root is None or named(root.fault) not in FAULTS:
        return None
    return answer("gpu.power_cap", situation, incident, root, (), verify=("gpu.heat",), risk=RISK)


REMEDY = Remedy(
    name="gpu.power_cap",
    does="lowers the power limit of a GPU that is too hot, step by step, and restores it",
    faults=FAULTS,
    takes="nothing",
    precondition="too hot in 5 of 10 samples; no power brake; the limit is nobody else's",
    risk=RISK,
    verification="the limit is read back; the margin rises",
    cooldown_s=300.0,
    deadline_s=600.0,
    verbs=frozenset(),
    propose=propose,
)
