"""Links that lose lanes or speed in the simulated fabric, by the real ibportstate."""

from pathlib import Path

import pytest

from agent.walk.walk import Selection, walk
from collectors.facts.wanted import Expect, Wanted
from collectors.node.live import Live
from tests.lab.infiniband.fabric import Fabric

pytestmark = pytest.mark.tool("ibsim", "opensm", "ibportstate", "ibstat")

# By what ibportstate prints of a lane: Gb/s of it, and the name, as the kernel writes both.
LANES = {"53.125 Gbps": (50, "HDR"), "25.78125 Gbps": (25, "EDR"), "14.0625 Gbps": (14, "FDR")}
EXPECTED = Wanted(expect=Expect(ib_rate_gbps=200.0), sample_s=0.2)


def shown(fabric: Fabric, tree: Path) -> None:
    """Write the rate that the fabric has now into the tree, as the driver would show it in sysfs.

    umad2sim 0.10 shows the rate of the network file whatever the port has come down to.
    """
    width, speed = fabric.link("gpu-017")
    lanes, (each, name) = int(width.removesuffix("X")), LANES[speed]
    rate = f"{lanes * each} Gb/sec ({lanes}X {name})\n"
    (tree / "sys/class/infiniband/ibsim0/ports/1/rate").write_text(rate)


async def judged(tree: Path) -> list[tuple[str, str, str]]:
    """Return what is found of the rates: fault, severity and message."""
    node = Live(root=str(tree))
    try:
        stages = await walk(node, EXPECTED, Selection(checks=("network.expected",)), {})
    finally:
        await node.close()
    findings = stages[0].results[0].findings
    return [(one.fault, one.severity, one.message) for one in findings]


@pytest.mark.parametrize(
    ("what", "value", "rate"),
    [("width", 1, 50), ("espeed", 2, 100), ("espeed", 1, 56)],
    ids=["one lane of four", "EDR of HDR", "FDR of HDR"],
)
async def test_a_link_that_falls_is_told(fabric: Fabric, what: str, value: int, rate: int) -> None:
    """A port is well at its rate, and its lost lanes or speed are told once it has come down."""
    fabric.manage()
    tree = fabric.tree("gpu-017")
    shown(fabric, tree)
    well = await judged(tree)
    fabric.limit("gpu-017", what, value)
    shown(fabric, tree)

    said = f"port ibsim0/1 runs at {rate} Gb/s; 200 Gb/s expected by the settings' table [expect]"
    assert ([], [("ib_port_rate_low", "warning", said)]) == (well, await judged(tree))
