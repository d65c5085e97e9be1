"""Recorded nodes with every remedy in `act`: nothing wrong is never acted upon, and a fault is."""

import pytest

from remediations.plan.decide import decide
from tests.nodes.replay import NAMES
from tests.remediations.plan.acted import TABLE, table
from tests.remediations.plan.rehearsal import acts, decided, idle, rehearsed, variants
from tests.score import truths

NEGATIVE = [name for name, truth in truths().items() if truth.negative and name in NAMES]
GIVEN_BACK = {"slurm.resume", "kubernetes.uncordon"}

# What is done first, as each node was recorded, and once it was drained by us.
POSITIVE = {
    "h100-gpu-lost": (["slurm.drain"], ["slurm.reboot"]),
    "h100-gpu-lost-unlogged": (["slurm.drain"], ["slurm.reboot"]),
    "h100-driver-hung": (["slurm.drain"], ["slurm.reboot"]),
    "init-9": (["slurm.drain"], ["slurm.reboot"]),
    "h100-gsp-timeout": (["slurm.drain"], ["gpu.reset"]),
    "ecc-uncorrectable": (["slurm.drain"], ["gpu.reset"]),
    "recovery-action-reset": (["slurm.drain"], ["gpu.reset"]),
    "nvlink-down": (["slurm.drain"], ["gpu.reset"]),
    "fabric-not-ready": (["slurm.drain"], ["fabric_manager.restart"]),
    "row-remap-failed": (["slurm.drain"], []),
    "gpu-count-7-of-8": (["slurm.drain"], []),
    "mce-uncorrected": (["slurm.drain"], []),
    "ib-port-down": (["slurm.drain"], []),
    "library-mismatch": (["slurm.drain"], []),
    "thermal-throttle": (["gpu.power_cap"], ["gpu.power_cap"]),
    "h100-orphan": (["process.end_orphan"], []),
}
# Faulty, and still nothing for us to do to the node: a job's, a setting's, storage's or a person's.
LEFT_ALONE = (
    *("nan-loss", "nfs-dead", "cascade-slow-storage", "cascade-full-disk", "nccl-docker0"),
    *("nccl-half-the-rails", "power-brake", "psu-lost", "fan-failed", "inlet-hot", "bmc-silent"),
    *("h100-oom", "ib-no-sm", "unexpected-reboot", "pcie-x8-nvme", "row-remap-pending"),
)


@pytest.mark.parametrize("name", NEGATIVE)
def test_a_node_with_nothing_wrong_is_left_alone(name: str) -> None:
    """As it was recorded, and idle in Slurm or in Kubernetes, where nothing would be in the way.

    One that we drained may be given back, and nothing else is done to it.
    """
    *free, out = variants(name)

    assert ([[], [], []], set()) == (
        [decided(given) for given in free],
        set(decided(out)) - GIVEN_BACK,
    )


@pytest.mark.parametrize(("name", "first", "then"), [(n, *both) for n, both in POSITIVE.items()])
def test_a_node_with_a_fault_gets_its_remedy(name: str, first: list[str], then: list[str]) -> None:
    """First it is taken out, and once it is drained it is repaired, or left to a person."""
    recorded, *_, out = variants(name)

    assert (first, then) == (decided(recorded), decided(out))


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_a_fault_that_is_not_the_nodes_takes_no_node(name: str) -> None:
    """The next job would meet it on the next node, or it is a person's to repair."""
    *free, _ = variants(name)

    assert [[], [], []] == [decided(given) for given in free]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_acts_only_in_a_rehearsal(name: str) -> None:
    """Whatever is allowed, what was recorded is no node that is there."""
    assert [] == acts(decide(rehearsed(name, rehearsal=False)))


@pytest.mark.parametrize("name", ["unseen-as-user", "blind-driver-stage", "cpu-only", "vm-real"])
def test_what_cannot_be_seen_is_not_given_back(name: str) -> None:
    """That nothing is found is no word that all is well: one that lost all GPUs has none ill."""
    assert [] == decided(variants(name)[-1])


def test_a_node_that_is_sick_in_another_way_is_not_given_back() -> None:
    """It was drained for one fault, and has another that no remedy answers."""
    assert [] == decided(variants("power-brake")[-1])


def test_a_busy_node_is_drained_and_its_repair_waits() -> None:
    """The jobs that run go on; the reset waits for them."""
    told = [(one.action.remedy, one.verdict) for one in decide(rehearsed("ecc-uncorrectable"))]

    assert [("slurm.drain", "acts"), ("gpu.reset", "waits")] == told


def test_with_nothing_said_all_is_advised() -> None:
    """The shipped default: the plan names the remedy, and says what turns it on."""
    given = idle("h100-gpu-lost", actor=False)

    assert {"advised"} == {one.verdict for one in decide(given)}


def test_what_would_be_done_on_each_node_is_known() -> None:
    """Each act in the table was judged to be the least that helps; one that changes is judged anew.

    Run `python -m tests.remediations.plan.acted` and read the difference.
    """
    assert TABLE.read_text() == table()
