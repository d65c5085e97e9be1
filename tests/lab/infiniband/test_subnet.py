"""The subnet manager and the map of the fabric, asked by the real tools on a simulated fabric."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import pytest

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.helpers.children import network
from collectors.network.neighbours import Neighbours
from collectors.network.neighbours import collect as neighbours
from collectors.network.ports import Port, Ports
from collectors.network.subnet import Managers, SubnetManagers
from collectors.network.topology import discover
from collectors.node.live import Live
from diagnostics.checks.network.subnet import subnet
from tests.lab.infiniband.fabric import Fabric

pytestmark = pytest.mark.tool("ibsim", "opensm", "sminfo", "smpquery", "ibnetdiscover")


def ports(fabric: Fabric) -> Ports:
    """Return the node's port as it would be in sysfs, ACTIVE whatever the manager does."""
    return Ports(ports=(Port(device="ibsim0", port=1, state="ACTIVE", lid=fabric.lid("gpu-017")),))


class Node(Live):
    """A node whose reader's verbs run the tools of the simulated host, in a thread here."""

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        verbs = {"sminfo": network.sminfo, "neighbours": network.neighbours}
        if kind in verbs:
            return await asyncio.to_thread(verbs[kind], **args)
        return await super().ask(kind, deadline_s=deadline_s, **args)


@pytest.fixture
def node(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return a node on the fabric."""
    tools = fabric.tools("gpu-017")
    monkeypatch.setattr(network, "SMINFO", (tools["sminfo"],))
    monkeypatch.setattr(network, "SMPQUERY", (tools["smpquery"],))
    monkeypatch.setattr(network, "AGAIN_S", 0.0)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return Node(tools=tools)


async def asked(node: Node, managers: Managers, seen: Ports) -> SubnetManagers:
    """Ask the manager once."""
    got = await managers.collect(node, Wanted(), seen)
    assert isinstance(got, SubnetManagers)
    return got


def told(seen: Sequence[SubnetManagers]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return of each look the verdict, and each finding's fault and severity."""
    results = [subnet.run({SubnetManagers: one}) for one in seen]
    return [(r.verdict, [(f.fault, f.severity) for f in r.findings]) for r in results]


async def test_a_manager_answers_is_lost_and_is_another(fabric: Fabric, node: Node) -> None:
    """Before it ever answered silence is a note, afterwards a fault; another GUID is told."""
    managers = Managers()
    looks = [await asked(node, managers, ports(fabric))]
    fabric.manage()
    here = ports(fabric)
    looks.append(await asked(node, managers, here))
    fabric.unmanage()
    looks.append(await asked(node, managers, here))
    fabric.manage(on="gpu-020")
    looks.append(await asked(node, managers, here))
    await node.close()

    missing = "ib_subnet_manager_missing"
    expected = [
        ("ok", [(missing, "info")]),
        ("ok", []),
        ("warning", [(missing, "warning")]),
        ("ok", [("ib_subnet_manager_changed", "info")]),
    ]
    assert expected == told(looks)


async def test_the_switch_of_a_port_is_one_hop_away(fabric: Fabric, node: Node) -> None:
    """The other end of the cable names itself: the leaf switch, and the port on it."""
    fabric.manage()
    seen = await neighbours(node, Wanted(), ports(fabric))
    await node.close()

    assert isinstance(seen, Neighbours)
    ends = [(n.port, n.rail, n.switch, n.switch_port) for n in seen.neighbours]
    assert [("ibsim0/1", 0, "leaf", 2)] == ends


async def test_a_person_gets_the_whole_map(fabric: Fabric, node: Node) -> None:
    """ibnetdiscover lists each cable once, from the switch's end."""
    fabric.manage()
    cables = await discover(node)
    await node.close()

    assert not isinstance(cables, Missing)
    expected = {(1, "manager"), (2, "gpu-017"), (3, "gpu-018"), (4, "gpu-019"), (5, "gpu-020")}
    assert expected == {(cable.switch_port, cable.to) for cable in cables}
