"""A rank is joined with its process, its GPU, and the port that its data leaves by."""

from typing import TYPE_CHECKING

import pytest

from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.pcie import Kind, PciDevice, PciTree
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.jobs.ras import Communicator, Member, RasStatus, Report
from collectors.network.ports import Port, Ports
from diagnostics.checks.training.of_ranks import devices, here, values
from diagnostics.checks.training.ras import ras

if TYPE_CHECKING:
    from collectors.facts.observation import Missing, Observation

RANK = Rank(pid=5120, comm="python", state="R", start_s=900.0, rank=1, job="90417", gpus=(1,))
HEALTH = GpuHealth(
    gpus=(
        GpuReading(index=0, minor=0, pci="00000000:3C:00.0"),
        GpuReading(index=1, minor=1, pci="00000000:4E:00.0"),
    )
)
PORTS = Ports(
    ports=tuple(
        Port(device=card, port=1, pci=pci, state="ACTIVE", phys_state="LinkUp", rate_gbps=400.0)
        for card, pci in (("mlx5_0", "0000:3d:00.0"), ("mlx5_1", "0000:4f:00.0"))
    )
)


def tree(*, switches: bool) -> PciTree:
    """Return two GPUs, each with a card on its own switch, or only on its own NUMA node."""

    def at(address: str, kind: Kind, node: int) -> PciDevice:
        root = (f"pci0000:{node}0", f"0000:{node}0:01.0")
        below = (f"0000:{node}1:00.0", f"0000:{node}2:0{kind == 'nic':d}.0") if switches else ()
        own = root if switches else (root[0], f"0000:{node}0:0{2 + (kind == 'nic')}.0")
        return PciDevice(address=address, kind=kind, above=own + below, numa=node)

    return PciTree(
        devices=(
            at("0000:3c:00.0", "gpu", 0),
            at("0000:3d:00.0", "nic", 0),
            at("0000:4e:00.0", "gpu", 1),
            at("0000:4f:00.0", "nic", 1),
        )
    )


@pytest.mark.parametrize("switches", [True, False])
def test_the_port_below_the_switch_or_on_the_numa_node_of_the_gpu_is_named(switches: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Rank 1 has the second GPU, and the second card stands beside that."""
    known = devices(HEALTH, PORTS, tree(switches=switches))
    told = (here(RANK, known), values(RANK, known)["ports"])
    assert (" (pid 5120, GPU 00000000:4E:00.0, port mlx5_1/1)", ["mlx5_1/1"]) == told


def test_where_the_tree_is_unseen_no_port_is_named() -> None:
    """A port that nobody placed may be any GPU's: none is told rather than all."""
    known = devices(HEALTH, PORTS, PciTree())
    assert (" (pid 5120, GPU 00000000:4E:00.0)", []) == (
        here(RANK, known),
        values(RANK, known)["ports"],
    )


def test_the_finding_names_the_port_and_holds_it_as_evidence() -> None:
    """NCCL says which process it does not reach; its GPU and port are joined to it."""
    dead = Member(rank=1, host="192.0.2.11", pid=5120, gpu=1, dead=True)
    report = Report(
        job="90417",
        address="127.0.0.1:28028",
        communicators=(Communicator(name="0x5c81", size=8, absent=(dead,)),),
    )
    seen: dict[type[Observation], Observation | Missing] = {
        RasStatus: RasStatus(reports=(report,)),
        LocalRanks: LocalRanks(ranks=(RANK,)),
        GpuHealth: HEALTH,
        Ports: PORTS,
        PciTree: tree(switches=True),
    }
    (found,) = ras.run(seen).findings
    told = ("port mlx5_1/1" in found.message, found.evidence[0].values["ports"])
    assert (True, ["mlx5_1/1"]) == told
