"""What is proposed to Slurm, by how the node stands with it."""

import pytest

from collectors.jobs.lost_steps import LostStep, LostSteps
from remediations.plan.actions import Situation, SlurmNode
from remediations.plan.decide import decide
from remediations.plan.scheduler import fault_of
from remediations.plan.standing import standing
from tests.remediations.plan.rehearsal import OURS
from tests.remediations.plan.sick import drained, sick, well

DONE = " : reboot issued : reboot complete"


def node(*states: str, reason: str | None = OURS) -> SlurmNode:
    return SlurmNode(name="gpu-017", states=frozenset(states), reason=reason, owner="root")


def told(given: Situation) -> list[tuple[str, str]]:
    return [(one.action.remedy, one.verdict) for one in decide(given)]


@pytest.mark.parametrize(
    "slurm",
    [
        node("IDLE", "DRAIN"),
        node("IDLE", "DRAIN", reason=f"{OURS} : reboot issued"),
        node("DOWN", reason=OURS + DONE),
    ],
)
def test_given_back(slurm: SlurmNode) -> None:
    """What is drained by us, also after a reboot; and what Slurm then has down for us."""
    assert [("slurm.resume", "acts")] == told(well(slurm=slurm))


@pytest.mark.parametrize(
    "slurm",
    [
        node("DOWN"),
        node("DOWN", reason=f"{OURS} : reboot issued : reboot timed out"),
        node("DOWN", "NOT_RESPONDING", reason=OURS + DONE),
        node("DOWN", "DRAIN", "REBOOT_ISSUED", reason=f"{OURS} : reboot issued"),
        node("IDLE", "DRAIN", "REBOOT_REQUESTED"),
        node("MIXED", "DRAIN"),
        node("IDLE", "DRAIN", "COMPLETING"),
        node("DOWN", reason=f"new fans{DONE}"),
        node("IDLE", "DRAIN", reason="new fans"),
        node("IDLE", "DRAIN", reason=None),
    ],
)
def test_not_given_back(slurm: SlurmNode) -> None:
    """What is not back, not idle, or another's: also another's that we rebooted never."""
    assert [] == told(well(slurm=slurm))


def test_requeued_is_what_lost_its_ranks() -> None:
    """The node drains for us, with the job that is dead on it; the repair waits for its end."""
    given = drained(slurm=node("MIXED", "DRAIN"), lost_jobs=("88123",))
    (first, _) = decide(given)
    assert ([("slurm.requeue", "acts"), ("slurm.reboot", "waits")], {"job": "88123"}) == (
        told(given),
        first.action.steps[0].args,
    )


@pytest.mark.parametrize(
    "given",
    [
        drained(slurm=node("MIXED", "DRAIN")),
        drained(slurm=node("MIXED", "DRAIN", reason="new fans"), lost_jobs=("88123",)),
        sick(slurm=node("MIXED", reason=None), lost_jobs=("88123",)),
        well(slurm=node("MIXED", "DRAIN"), lost_jobs=("88123",)),
    ],
    ids=["alive", "a person's drain", "in use", "no fault"],
)
def test_not_requeued(given: Situation) -> None:
    """Without a drain of ours it would come back to this node; without a fault it only ends."""
    assert "slurm.requeue" not in [remedy for remedy, _ in told(given)]


def test_which_jobs_are_lost() -> None:
    """Those that may be requeued, of a step that ran for five minutes, each once."""

    def step(job: str, ran: float, *, requeue: bool = True) -> LostStep:
        return LostStep(job=job, step="0", ran_s=ran, requeue=requeue)

    some = (step("1", 900), step("1", 901), step("2", 900, requeue=False), step("3", 299))
    assert ("1",) == standing({LostSteps: LostSteps(steps=some)}).lost_jobs


@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        ("gpudiag: gpu_lost gpu 0000:41:00.0 incident 9f", "gpu_lost"),
        ("gpudiag: gpu_lost: the driver can no longer reach the GPU", "gpu_lost"),
        ("new fans", None),
        (None, None),
    ],
)
def test_the_fault_of_a_reason(reason: str | None, fault: str | None) -> None:
    """Of the hooks' own drain as of ours."""
    assert fault == fault_of(reason)
