"""Give the node back to Kubernetes: only a cordon of ours, and only once its cause is gone."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, Remedy, Situation, Step
from remediations.plan.answer import give_back
from remediations.plan.needs import fit

NAME = "kubernetes.uncordon"
RISK = "the next pod gets the node: a fault that only shows under load shows there"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Uncordon a node that we cordoned, where no incident stands any more."""
    del incident, root
    kube = situation.kubernetes
    if kube is None or not (kube.unschedulable and kube.ours) or not fit(situation):
        return None
    step = Step(
        verb="kubernetes_uncordon",
        args={"reason": kube.reason or ""},
        says=f"kubectl uncordon {kube.name}, and take our taint off",
        done="kubernetes_uncordoned",
    )
    return give_back(NAME, situation, kube.name, kube.reason, step, risk=RISK)


REMEDY = Remedy(
    name=NAME,
    does="uncordons the node in Kubernetes and takes our taint off",
    about="node",
    takes="nothing",
    precondition="it is cordoned with our taint, and all that is checked afterwards is seen well",
    risk=RISK,
    verification="the API server says schedulable, without our taint",
    cooldown_s=900.0,
    deadline_s=1800.0,
    verbs=frozenset({"kubernetes_uncordon"}),
    propose=propose,
)
