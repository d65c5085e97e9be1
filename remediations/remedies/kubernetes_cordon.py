"""Take the node out of Kubernetes' use: pods that run go on, no new one comes."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import answer, reason
from remediations.plan.needs import repairs

RISK = "no new pod starts on the node until it is uncordoned; those that run go on"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Cordon and taint a node that Kubernetes uses, where the fault needs it out."""
    kube = situation.kubernetes
    if incident is None or root is None or kube is None or kube.unschedulable:
        return None
    if "out" not in repairs(situation, root):
        return None
    why = {"reason": reason(incident, root)}
    step = Step(
        verb="kubernetes_cordon",
        args=why,
        says=f"kubectl cordon {kube.name}, with our taint of effect NoSchedule",
        undo=Step(
            verb="kubernetes_uncordon",
            args=why,
            says="uncordon it, if the taint is still ours",
            done="kubernetes_uncordoned",
        ),
        done="kubernetes_cordoned",
    )
    return answer("kubernetes.cordon", situation, incident, root, (step,), verify=(), risk=RISK)


REMEDY = Remedy(
    name="kubernetes.cordon",
    does="cordons the node in Kubernetes and adds our taint of effect NoSchedule",
    takes="node",
    precondition="the node is schedulable, and nobody else has cordoned it",
    risk=RISK,
    verification="the API server says unschedulable, with our taint",
    cooldown_s=900.0,
    deadline_s=600.0,
    verbs=frozenset({"kubernetes_cordon", "kubernetes_uncordon"}),
    propose=propose,
)
