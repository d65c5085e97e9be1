"""Evict the pods of a dead job, so that its controller starts them on other nodes."""

from diagnostics.document import Incident
from diagnostics.finding import Finding
from remediations.plan.actions import Remedy, Situation

RISK = "what the pods did since their last checkpoint is done again"


def propose(situation: Situation, incident: Incident | None, root: Finding | None) -> None:
    """Propose nothing: what is known of a pod here does not say that its job is dead."""
    del situation, incident, root


REMEDY = Remedy(
    name="kubernetes.evict",
    does="evicts the GPU pods of a job that is dead, or of any where the policy says so",
    takes="process",
    precondition="cordoned by us; the job is dead, or [kubernetes] evict is true",
    risk=RISK,
    verification="the API server lists the pods no more",
    cooldown_s=900.0,
    deadline_s=600.0,
    verbs=frozenset({"kubernetes_evict"}),
    propose=propose,
)
