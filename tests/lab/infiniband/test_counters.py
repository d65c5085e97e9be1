"""Counters that rise at known rates: set in the simulator, read by the real perfquery."""

from pathlib import Path

import pytest

from collectors.facts.wanted import Wanted
from collectors.network.counters import Counting, PortCounters
from collectors.network.ports import Ports
from collectors.network.ports import collect as read_ports
from collectors.node.live import Live
from diagnostics.checks.network.counters import counters
from tests.lab.infiniband.fabric import Fabric

pytestmark = pytest.mark.tool("ibsim", "opensm", "perfquery")

NAMES = {
    "SymbolErrorCounter": "symbol_error",
    "LinkErrorRecoveryCounter": "link_error_recovery",
    "PortRcvErrors": "port_rcv_errors",
}


class Clocked(Live):
    """A node whose time is the test's."""

    at_s = 0.0

    def monotonic(self) -> float:
        return self.at_s

    async def sleep(self, seconds: float) -> None:
        self.at_s += seconds


def shown(fabric: Fabric, tree: Path) -> None:
    """Write what perfquery prints into the tree, as the driver would show it in sysfs."""
    folder = tree / "sys/class/infiniband/ibsim0/ports/1/counters"
    folder.mkdir(exist_ok=True)
    for printed, name in NAMES.items():
        (folder / name).write_text(f"{fabric.counted('gpu-017', printed)}\n")


@pytest.mark.parametrize(
    ("counter", "rises", "expected"),
    [
        ("SymbolErrorCounter", 1, []),
        ("SymbolErrorCounter", 1200, ["ib_symbol_errors"]),
        ("LinkErrorRecoveryCounter", 60, ["ib_link_recovery_rate"]),
        ("PortRcvErrors", 1200, ["ib_port_error"]),
    ],
)
async def test_a_known_rate_is_judged(
    fabric: Fabric, counter: str, rises: int, expected: list[str]
) -> None:
    """What the simulator counted in a minute is the rate; a few symbols an hour are none."""
    fabric.manage()
    fabric.count("gpu-017", counter, 7)
    tree = fabric.tree("gpu-017")
    node, counting, seen = Clocked(root=str(tree)), Counting(), []
    for step in range(4):
        fabric.count("gpu-017", counter, 7 + step * rises)
        shown(fabric, tree)
        seen.append(await counting.collect(node, Wanted()))
        node.at_s += 59.0 if not step else 60.0
    ports = await read_ports(node, Wanted())
    await node.close()

    assert isinstance(seen[-1], PortCounters)
    result = counters.run({PortCounters: seen[-1], Ports: ports})
    assert expected == [finding.fault for finding in result.findings]
