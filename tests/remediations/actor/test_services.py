"""Fabric manager and persistenced, started again on a drained node: with stand-ins for tools."""

import pytest

from remediations.actor import services, units
from remediations.actor.registry import Refused
from remediations.actor.run import Unsure
from tests.remediations.actor.holding import holding
from tests.remediations.actor.resettable import (
    FABRIC_MANAGER,
    ID,
    PERSISTENCED,
    Resettable,
    node,
)

__all__ = ["node"]
pytestmark = [pytest.mark.root, pytest.mark.serial]


def fabric(node: Resettable) -> str:
    return services.fabric_manager_restart(node.turn("fabric_manager.restart"))


def persistenced(node: Resettable) -> str:
    return services.persistenced_restart(node.turn("persistenced.restart"))


def test_the_fabric_is_set_up_anew(node: Resettable) -> None:
    """Stopped, all GPUs reset together, started, and waited for state 3."""
    for index in range(2):
        node.set(index, fabric__state=1)
    before = services.fabric_state(node.state)
    said = fabric(node)
    after = services.fabric_state(node.state)
    log = [line for line in node.log() if "-pm" not in line]
    steps = [
        f"systemctl stop {PERSISTENCED}",
        f"systemctl stop {FABRIC_MANAGER}",
        "nvidia-smi --gpu-reset",
        f"systemctl start {PERSISTENCED}",
        f"systemctl start {FABRIC_MANAGER}",
    ]
    assert (False, "started again, and the fabric is set up", True, steps) == (
        before,
        said,
        after,
        log,
    )


def test_one_that_does_not_run(node: Resettable) -> None:
    """It is what was wrong: it is started all the same, after the reset."""
    (node.folder / f"active-{FABRIC_MANAGER}").unlink()
    said = fabric(node)
    assert ("started again, and the fabric is set up", f"systemctl start {FABRIC_MANAGER}") == (
        said,
        node.log()[-1],
    )


def test_a_fabric_that_is_not_set_up(node: Resettable) -> None:
    """It was restarted, and the question says that it is not as it should be."""
    node.put("fabric-stays")
    node.set(0, fabric__state=2)
    said = services.fabric_manager_restart(node.turn("fabric_manager.restart", left_s=30.0))
    assert ("started again; the fabric is not set up yet", False) == (
        said,
        services.fabric_state(node.state),
    )


@pytest.mark.parametrize("version", ["580.95.06", "580.95", "none"])
def test_another_version(node: Resettable, version: str) -> None:
    """It would not start: nothing is stopped for it."""
    driver = (node.folder / "version").read_text()
    node.put("version", version)
    with pytest.raises(Refused) as no:
        fabric(node)
    assert (True, []) == (f"the driver {driver}" in no.value.detail, node.log())


def test_a_job_on_the_node(node: Resettable) -> None:
    """Neither of both is touched while anything of a job may be there, or holds a GPU."""
    whys = []
    for state in ("State=MIXED+DRAIN Reason=gpudiag: x", "State=IDLE"):
        node.put("slurm", state)
        for act in (fabric, persistenced):
            with pytest.raises(Refused) as no:
                act(node)
            whys.append(no.value.detail.partition(":")[0])
    assert (["the node is not drained"] * 4, []) == (whys, node.log())


def test_a_holder(node: Resettable) -> None:
    """A process of whomever keeps both from acting."""
    whys = []
    with holding() as pid:
        for act in (fabric, persistenced):
            with pytest.raises(Refused) as no:
                act(node)
            whys.append(no.value.detail)
    assert ([f"a GPU is open in process {pid} (sleep)"] * 2, []) == (whys, node.log())


def test_persistenced_is_started_again(node: Resettable) -> None:
    """Persistence mode is on again, and the counters of before are kept."""
    (node.folder / f"active-{PERSISTENCED}").unlink()
    node.set(0, persistence=0)
    before = services.persistenced_state(node.state)
    said = persistenced(node)
    path = node.state / "counters" / f"{ID}.txt"
    told = (before, said, services.persistenced_state(node.state), path.read_text())
    counters = "Volatile\n    DRAM Uncorrectable : 3\n"
    words = f"restarted, and persistence mode is on; counters in {path}"
    assert (False, words, True, counters) == told


def test_counters_that_cannot_be_saved(node: Resettable) -> None:
    """The driver would forget them: nothing is restarted."""
    node.put("no-query")
    with pytest.raises(Refused) as no:
        persistenced(node)
    assert (True, []) == ("the counters cannot be saved" in no.value.detail, node.log())


def test_a_restart_that_fails(node: Resettable, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was stopped and did not start: nobody knows, and the question is asked."""
    monkeypatch.setattr(units, "DO_S", 0.01)
    with pytest.raises(Unsure):
        persistenced(node)
