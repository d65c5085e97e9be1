"""What is proposed on a node of Kubernetes', and what of a job is left alone."""

from typing import Any

from remediations.plan.actions import KubeNode, KubePod, Situation
from remediations.plan.decide import decide
from remediations.policy import Kubernetes, Policy
from tests.remediations.plan.rehearsal import EVERYTHING, acts
from tests.remediations.plan.sick import drained, sick, well

REASON = "gpudiag: gpu_fell_off_bus gpu 0000:4e:00.0 incident 0f3a5c7e9b1d2460"
DEAD = KubePod(name="train/worker-3", uid="5a0c2b1e-6a37", dead=True)
RUNS = KubePod(name="train/worker-4", uid="77d5ce30-1f0a")


def node(*pods: KubePod, out: bool = True) -> KubeNode:
    reason = REASON if out else None
    return KubeNode(name="gpu-017", unschedulable=out, ours=out, reason=reason, pods=pods)


def evicted(situation: Situation) -> list[Any]:
    return [
        step.args
        for one in decide(situation)
        if one.action.remedy == "kubernetes.evict" and one.verdict == "acts"
        for step in one.action.steps
    ]


def test_it_is_cordoned_and_can_be_taken_back() -> None:
    """With the reason that names fault and incident; the way back names the same."""
    (decision, *_) = decide(sick(slurm=None, kubernetes=node(out=False)))
    (step,) = decision.action.steps
    assert step.undo is not None
    assert ("kubernetes.cordon", "acts", REASON, REASON) == (
        decision.action.remedy,
        decision.verdict,
        step.args["reason"],
        step.undo.args["reason"],
    )


def test_pods_of_dead_jobs_are_evicted() -> None:
    """Those alone, each a step; one that runs goes on."""
    given = drained(slurm=None, kubernetes=node(DEAD, RUNS))
    assert [{"pods": ["train/worker-3/5a0c2b1e-6a37"], "running": False}] == evicted(given)


def test_pods_that_run_are_evicted_where_the_policy_says_so() -> None:
    """One line of root's."""
    policy = Policy(
        mode=EVERYTHING.mode,
        allow_unproved=EVERYTHING.allow_unproved,
        kubernetes=Kubernetes(evict=True),
    )
    told = evicted(drained(slurm=None, kubernetes=node(DEAD, RUNS), policy=policy))
    assert [True, True] == [args["running"] for args in told]


def test_nothing_is_evicted_from_a_node_in_use() -> None:
    """Nor from one that somebody else has cordoned."""
    theirs = KubeNode(name="n", unschedulable=True, pods=(DEAD,))
    given = [drained(slurm=None, kubernetes=kube) for kube in (node(DEAD, out=False), theirs)]
    assert [[], []] == [evicted(one) for one in given]


def test_only_our_cordon_is_taken_back() -> None:
    """By its own reason, and once the node is well."""
    theirs = KubeNode(name="n", unschedulable=True)
    ours, foreign = (decide(well(slurm=None, kubernetes=kube)) for kube in (node(), theirs))
    assert ([{"reason": REASON}], []) == (
        [step.args for one in ours for step in one.action.steps],
        acts(foreign),
    )
