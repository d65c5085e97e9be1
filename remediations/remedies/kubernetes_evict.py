"""Evict the pods of a dead job, so that its controller starts them on other nodes."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Action, KubePod, Remedy, Situation, Step
from remediations.plan.answer import answer
from remediations.plan.needs import repairs

RISK = "what the pods did since their last checkpoint is done again"
# The plan of an action is one line of the actor's journal.
MOST_PODS = 6
MOST_NAME = 160


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> Action | None:
    """Evict what is left of dead jobs on a node that we cordoned; all, where the policy says so."""
    kube = situation.kubernetes
    if incident is None or root is None or kube is None or not (kube.unschedulable and kube.ours):
        return None
    if "out" not in repairs(situation, root):
        return None
    running = situation.policy.kubernetes.evict
    pods = [pod for pod in kube.pods if (pod.dead or running) and len(pod.name) <= MOST_NAME]
    steps = tuple(_step(pod, running=running) for pod in pods[:MOST_PODS])
    if not steps:
        return None
    return answer("kubernetes.evict", situation, incident, root, steps, verify=(), risk=RISK)


def _step(pod: KubePod, *, running: bool) -> Step:
    return Step(
        verb="kubernetes_evict",
        args={"pods": [f"{pod.name}/{pod.uid}"], "running": running},
        says=f"evict pod {pod.name}",
        done="kubernetes_evicted",
    )


REMEDY = Remedy(
    name="kubernetes.evict",
    does="evicts the GPU pods of a job that is dead, or of any where the policy says so",
    takes="process",
    precondition="cordoned by us; no container of the pod runs, or [kubernetes] evict is true",
    risk=RISK,
    verification="the API server lists the pods no more",
    cooldown_s=900.0,
    deadline_s=600.0,
    verbs=frozenset({"kubernetes_evict"}),
    propose=propose,
)
