"""What ports are for: settings, a switch, a NUMA node and speed, in this order."""

from typing import Any

import pytest

from collectors.gpu.pcie import PciDevice, PciTree
from collectors.network.ports import Port, Ports
from diagnostics.checks.network.roles import Network, rails, roles

GPU, NEAR, FAR = "0000:19:00.0", "0000:1a:00.0", "0000:9a:00.0"
ROOTS = ("pci0000:15", "0000:15:01.0")
SWITCH = (*ROOTS, "0000:16:00.0")


def port(number: int, pci: str, gbps: float, **parts: Any) -> Port:
    named = {"board_id": f"MT_{gbps:g}", "hca_type": "MT4129", "state": "ACTIVE", **parts}
    return Port(device=f"mlx5_{number}", port=1, pci=pci, rate_gbps=gbps, **named)


def tree(*cards: tuple[str, int | None], switch: str | None = None) -> PciTree:
    """Return a GPU on NUMA node 0 beside cards on theirs; `switch` names one below its switch."""
    gpu = PciDevice(address=GPU, kind="gpu", above=(*SWITCH, "0000:17:00.0"), numa=0)
    return PciTree(
        devices=(
            gpu,
            *(
                PciDevice(
                    address=pci,
                    kind="nic",
                    above=(*SWITCH, "0000:17:04.0") if pci == switch else ("pci0000:99",),
                    numa=numa,
                )
                for pci, numa in cards
            ),
        )
    )


BOTH = tree((NEAR, 0), (FAR, 1))
ROCE = {"link_layer": "Ethernet"}
NODE = "on NUMA node 0 with a GPU"
LIKE = "like the ports on a GPU's NUMA node"


@pytest.mark.parametrize(
    ("ports", "seen", "expected"),
    [
        # The settings go before a switch, and that before a NUMA node.
        (
            (port(0, NEAR, 400.0, role="storage"), port(1, FAR, 400.0, role="compute")),
            tree((NEAR, 0), (FAR, 1), switch=NEAR),
            {"mlx5_0/1": "by the settings", "mlx5_1/1": "by the settings"},
        ),
        (
            (port(0, NEAR, 200.0), port(1, FAR, 400.0)),
            tree((NEAR, 0), (FAR, 0), switch=NEAR),
            {"mlx5_0/1": f"on one PCIe switch with GPU {GPU}"},
        ),
        # Without a switch, a card on a GPU's node; its like on another node come with it.
        (
            (port(0, NEAR, 400.0), port(1, FAR, 400.0)),
            BOTH,
            {"mlx5_0/1": NODE, "mlx5_1/1": LIKE},
        ),
        ((port(0, NEAR, 200.0), port(1, FAR, 400.0)), BOTH, {"mlx5_0/1": NODE}),
        # On one node, the speed class that has most of the bandwidth.
        (
            (port(0, NEAR, 200.0, **ROCE), port(1, FAR, 400.0, **ROCE)),
            tree((NEAR, 0), (FAR, 0)),
            {"mlx5_1/1": NODE},
        ),
        # A board's own slow port that can do RoCE is for nothing in particular.
        ((port(0, NEAR, 25.0, **ROCE),), BOTH, {}),
        # Where the board tells no node, InfiniBand is for the jobs, and RoCE may be for anything.
        ((port(0, NEAR, 400.0),), tree((NEAR, None)), {"mlx5_0/1": "InfiniBand"}),
        ((port(0, NEAR, 400.0, **ROCE),), tree((NEAR, -1)), {}),
        ((port(0, NEAR, 400.0),), None, {"mlx5_0/1": "InfiniBand"}),
    ],
)  # fmt: skip
def test_who_knows_best_decides(
    ports: tuple[Port, ...], seen: PciTree | None, expected: dict[str, str]
) -> None:
    """The role's reason names who decided."""
    assert expected == dict(roles(Network(ports=Ports(ports=ports), tree=seen)).why)


def test_a_port_that_is_down_keeps_its_role() -> None:
    """It shows the slowest rate there is, and is the like of those that are up."""
    down = port(2, "0000:1c:00.0", 10.0, state="DOWN", board_id="MT_400")
    ports = Ports(ports=(port(0, NEAR, 400.0), port(1, FAR, 400.0), down))

    assert "compute" == roles(Network(ports=ports, tree=BOTH)).of["mlx5_2/1"]


def test_data_goes_over_ports_in_use() -> None:
    """Those with the role of compute; a port that is down or a function of a guest is none."""
    ports = (
        port(0, NEAR, 400.0),
        port(1, NEAR, 400.0, state="DOWN"),
        port(2, NEAR, 400.0, virtual=True),
        port(3, NEAR, 400.0, role="storage"),
    )

    assert ["mlx5_0"] == [one.device for one in rails(ports, BOTH)]


def test_where_nothing_is_known_the_fastest_carry_data() -> None:
    """RoCE in a guest that shows no tree: a job uses the fastest ports all the same."""
    ports = (port(0, NEAR, 100.0, **ROCE), port(1, FAR, 25.0, **ROCE))

    assert ["mlx5_0"] == [one.device for one in rails(ports, PciTree())]
