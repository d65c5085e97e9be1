"""Probing many peers: one at a time, and an end to it; on a recording's clock."""

import asyncio
from pathlib import Path

from collectors.facts.observation import Cause
from collectors.facts.wanted import Peer
from collectors.network.peers import Probe, each, others
from collectors.node.protocol import Node
from tests.recording import recorded


def peers(count: int) -> list[Peer]:
    return [Peer(name=f"gpu-{number:03}", lid=number + 1) for number in range(count)]


async def probe(node: Node, peer: Peer) -> Probe:
    """Take two seconds for an answer."""
    await node.sleep(2.0)
    return Probe(peer=peer.name, target=str(peer.lid), sent=10, received=10)


def test_one_at_a_time(tmp_path: Path) -> None:
    """Three peers of two seconds each take six seconds, and come in the order of the settings."""
    node = recorded(tmp_path)

    probes = asyncio.run(each(node, peers(3), probe))

    assert ([f"gpu-{n:03}" for n in range(3)], 6.0) == ([p.peer for p in probes], node.monotonic())


def test_no_probe_is_begun_late(tmp_path: Path) -> None:
    """After nine seconds no probe is begun; who was not asked is unseen, not silent."""
    node = recorded(tmp_path)

    probes = asyncio.run(each(node, peers(7), probe))

    causes = [p.missing and p.missing.cause for p in probes]
    assert ([None] * 5 + [Cause.TIMEOUT] * 2, 10.0) == (causes, node.monotonic())


def test_a_node_leaves_itself_out(tmp_path: Path) -> None:
    """One list serves all nodes: who is named in it, in whatever form, asks the others."""
    node = recorded(tmp_path)
    listed = [Peer(name=name, lid=3) for name in ("GPU-017.example.net", "gpu-018", "gpu-0171")]

    asked = asyncio.run(others(node, listed))

    assert ["gpu-018", "gpu-0171"] == [peer.name for peer in asked]


def test_nobody_to_ask(tmp_path: Path) -> None:
    """Without peers nothing is asked and no time passes."""
    node = recorded(tmp_path)

    assert ((), 0.0) == (asyncio.run(each(node, [], probe)), node.monotonic())
