"""The network stage against real InfiniBand tools on a simulated fabric."""

import os
import re
from pathlib import Path

import pytest

from agent.walk.walk import Selection, walk
from collectors.facts.wanted import Peer, Wanted
from collectors.helpers.children import network
from collectors.network import ports
from collectors.node.live import Live
from diagnostics.check import Result
from tests.lab.infiniband.fabric import Fabric

pytestmark = pytest.mark.tool("ibsim", "opensm", "ibping", "ibstat", "perfquery")


async def judged(node: Live, check: str, *peers: Peer) -> Result:
    """Walk the node for one check."""
    wanted = Wanted(peers=peers, sample_s=0.2)
    try:
        stages = await walk(node, wanted, Selection(checks=(check,)), {})
    finally:
        await node.close()
    return stages[0].results[0]


def told(result: Result) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the verdict, and of each finding its fault, severity and message."""
    return result.verdict, [(f.fault, f.severity, f.message) for f in result.findings]


async def test_peers_that_answer_are_well(fabric: Fabric) -> None:
    """Peers with a responder answer a real ibping, by LID and by port GUID."""
    fabric.manage()
    fabric.answer("gpu-018", "gpu-019")
    peers = (
        Peer(name="gpu-018", lid=fabric.lid("gpu-018")),
        Peer(name="gpu-019", port_guid=fabric.guid("gpu-019")),
    )

    result = await judged(Live(tools=fabric.tools("gpu-017")), "network.ibping", *peers)

    assert ("ok", "2 of 2 peers answer ibping") == (result.verdict, result.message)


async def test_lost_pings_are_counted(fabric: Fabric) -> None:
    """A peer that loses three of ten pings, retries too, has lost three of ten."""
    fabric.manage()
    fabric.answer("gpu-018:3")
    peer = Peer(name="gpu-018", lid=fabric.lid("gpu-018"))

    result = await judged(Live(tools=fabric.tools("gpu-017")), "network.ibping", peer)

    message = f"3 of 10 ibping packets to gpu-018 (LID {peer.lid}) were lost"
    assert ("warning", [("ib_ping_loss", "warning", message)]) == told(result)


async def test_an_unknown_guid_is_unreachable(fabric: Fabric) -> None:
    """A port GUID that the subnet manager does not know is told as such, beside one it knows."""
    fabric.manage()
    fabric.answer("gpu-018")
    known = Peer(name="gpu-018", port_guid=fabric.guid("gpu-018"))
    unknown = Peer(name="gpu-033", port_guid="0x506b4b0300a1b2c3")

    result = await judged(Live(tools=fabric.tools("gpu-017")), "network.ibping", known, unknown)

    message = (
        "gpu-033 (0x506b4b0300a1b2c3) gives no answer to ibping: can't resolve destination port "
        "0x506b4b0300a1b2c3; that it ever did, or that its server runs, is not known"
    )
    assert ("ok", [("ib_ping_unreachable", "info", message)]) == told(result)


async def test_no_subnet_manager(fabric: Fabric) -> None:
    """A port that has its link and no subnet manager stays in INIT with SM LID 0."""
    result = await judged(Live(root=str(fabric.tree("gpu-017"))), "network.ports")

    message = "no subnet manager has configured ibsim0/1: link up, state INIT, SM LID 0"
    assert ("fault", [("ib_subnet_manager_missing", "critical", message)]) == told(result)


async def test_a_managed_port_is_well(fabric: Fabric) -> None:
    """Once a subnet manager runs, the same port is ACTIVE at the rate that its lanes give."""
    fabric.manage()

    result = await judged(Live(root=str(fabric.tree("gpu-020"))), "network.ports")

    assert ("ok", "1 port at 26 Gb/s") == (result.verdict, result.message)


async def test_a_port_that_was_up_is_down(fabric: Fabric) -> None:
    """A port that had a LID and lost its link is a fault, even as the only port of the node."""
    fabric.manage()
    lid = fabric.lid("gpu-017")
    fabric.unlink("gpu-017")

    result = await judged(Live(root=str(fabric.tree("gpu-017"))), "network.ports")

    message = f"port ibsim0/1 is DOWN (Polling), though it had LID {lid} before"
    assert ("fault", [("ib_port_down", "critical", message)]) == told(result)


async def test_sysfs_and_ibstat_agree(fabric: Fabric) -> None:
    """What is parsed from sysfs is what the real ibstat prints of the same port."""
    fabric.manage()
    node = Live(root=str(fabric.tree("gpu-018")))

    seen = await ports.collect(node, Wanted())
    await node.close()

    assert isinstance(seen, ports.Ports)
    port = seen.ports[0]
    said = dict(re.findall(r"^\s*([\w ]+): (.*)$", fabric.tool("gpu-018", "ibstat"), re.MULTILINE))
    parsed = (port.state, port.phys_state, str(port.lid), str(port.sm_lid), f"{port.rate_gbps:g}")
    printed = (
        said["State"].upper(),
        *(said[field] for field in ("Physical state", "Base lid", "SM lid", "Rate")),
    )
    assert printed == parsed


async def test_pings_move_the_port_counters(fabric: Fabric) -> None:
    """The pings go over the fabric: the peer's port counts their packets in perfquery."""
    fabric.manage()
    fabric.answer("gpu-018")
    peer = Peer(name="gpu-018", lid=fabric.lid("gpu-018"))
    before = received(fabric)

    await judged(Live(tools=fabric.tools("gpu-017")), "network.ibping", peer)

    assert received(fabric) - before >= 10


def received(fabric: Fabric) -> int:
    """Return how many packets the peer's port has received, by perfquery."""
    hit = re.search(r"^PortRcvPkts:\.+(\d+)$", fabric.tool("gpu-018", "perfquery"), re.MULTILINE)
    assert hit is not None
    return int(hit[1])


def test_the_reader_pings_for_others(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader's verb runs the real tool for a LID and for a GUID, in the order asked."""
    fabric.manage()
    fabric.answer("gpu-018")
    monkeypatch.setattr(network, "PATHS", (fabric.tools("gpu-017")["ibping"],))
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    answers = network.ibping([fabric.guid("gpu-018"), "49151"])

    lines = [re.findall(r"\d+ received", answer["stdout"]) for answer in answers]
    assert [["10 received"], ["0 received"]] == lines


def test_nothing_is_left(tmp_path: Path) -> None:
    """All programs of a fabric have ended when its context is left."""
    with Fabric(tmp_path) as fabric:
        fabric.manage()
        fabric.answer("gpu-018")

    assert [3, []] == [len(fabric.started), [p.args for p in fabric.started if p.poll() is None]]
