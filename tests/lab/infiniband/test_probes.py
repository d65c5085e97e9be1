"""Probes over time on a simulated fabric, by real tools: which silence is a fault, and whose."""

import itertools
import re
from collections.abc import Iterable
from subprocess import PIPE, run
from typing import Any

import pytest

from agent.daemon.probing import Probing
from aggregator.wire import Receipt
from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Peer, Wanted
from collectors.network import ibping as tool
from collectors.network import ports as port_files
from collectors.network.ibping import IbPings
from collectors.network.ports import Ports
from collectors.network.schedule import Turn
from collectors.node.live import Live
from diagnostics.check import Result
from diagnostics.checks.network.bad_end import worst_end
from diagnostics.checks.network.ibping import ibping
from tests.lab.infiniband.fabric import Fabric

pytestmark = pytest.mark.tool("ibsim", "opensm", "ibping", "ibstat")


class There(Live):
    """A node of the fabric: its tools run on it, its files are its own tree's."""

    def __init__(self, fabric: Fabric, host: str) -> None:
        super().__init__(tools=fabric.tools(host))
        self._tree = Live(root=str(fabric.tree(host)))

    async def files(self, *patterns: str, **asked: Any) -> Files | Missing:
        """Read below the tree."""
        return await self._tree.files(*patterns, **asked)

    async def close(self) -> None:
        """End both helpers."""
        await self._tree.close()
        await super().close()


class Prober:
    """The probing of one node, one turn after the other without the schedule's pauses."""

    def __init__(
        self, fabric: Fabric, host: str, peers: Iterable[str], node: Live | None = None
    ) -> None:
        self.node = node or Live(tools=fabric.tools(host))
        self.peers = tuple(peers)
        named = tuple(Peer(name=name, lid=fabric.lid(name), serves=True) for name in self.peers)
        self.wanted = Wanted(peers=named, sample_s=0.2)
        self.probing = Probing(self.node, lambda: self.wanted)

    async def turn(self, peer: str) -> None:
        """Take one turn; whoever else there is may be asked afterwards."""
        now = self.node.now()
        others = tuple((now, other) for other in self.peers if other != peer)
        turn = Turn(round=0, starts=now, rail="", peer=peer, peer_rail="", instead=others)
        await self.probing.make(turn)

    async def all(self) -> None:
        """Take a turn with every peer."""
        for peer in self.peers:
            await self.turn(peer)

    async def seen(self) -> IbPings:
        """Return what is known of the peers."""
        shown = await self.probing.ibpings(self.node, self.wanted)
        assert isinstance(shown, IbPings)
        return shown

    async def judged(self, ports: Ports | Missing) -> Result:
        """Judge what is known of the peers."""
        return ibping.run({IbPings: await self.seen(), Ports: ports})


async def ports_of(fabric: Fabric, host: str) -> Ports | Missing:
    """Return the node's port as its tree in sysfs shows it."""
    node = Live(root=str(fabric.tree(host)))
    seen = await port_files.collect(node, Wanted(sample_s=0.2))
    await node.close()
    return seen


def told(result: Result) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the verdict, and of each finding its fault, severity and subject."""
    return result.verdict, [(f.fault, f.severity, f.subject.name) for f in result.findings]


async def test_a_pulled_cable_is_named_and_heals(fabric: Fabric) -> None:
    """A peer that answered is a fault when its cable is pulled, and none when it is put back."""
    fabric.manage()
    fabric.answer("gpu-018", "gpu-019")
    prober = Prober(fabric, "gpu-017", ["gpu-018", "gpu-019"])
    ports = await ports_of(fabric, "gpu-017")
    await prober.all()
    before = told(await prober.judged(ports))
    fabric.unlink("gpu-019")
    await prober.turn("gpu-019")
    pulled = await prober.judged(ports)
    fabric.relink("gpu-019")
    await prober.turn("gpu-019")
    after = told(await prober.judged(ports))
    await prober.node.close()

    fault = ("warning", [("ib_ping_unreachable", "warning", "gpu-019")])
    assert [("ok", []), fault, ("ok", [])] == [before, told(pulled), after]
    assert pulled.findings[0].message.endswith("1 other node does now: the bad end is there")


async def test_an_own_pulled_cable_is_named(fabric: Fabric) -> None:
    """With this node's own cable pulled, one finding stands for all peers: this node's."""
    fabric.manage()
    fabric.answer("gpu-018", "gpu-019")
    prober = Prober(fabric, "gpu-017", ["gpu-018", "gpu-019"])
    await prober.all()
    fabric.unlink("gpu-017")
    await prober.turn("gpu-019")
    result = await prober.judged(await ports_of(fabric, "gpu-017"))
    await prober.node.close()

    assert ("warning", [("ib_ping_unreachable", "warning", "node")]) == told(result)


async def test_two_that_never_met_are_judged_by_their_others(fabric: Fabric) -> None:
    """A peer lost before this node's first turn is a fault: others answered both ends.

    What each end tells of itself, P_Key and LID, is read from the files of the simulated port.
    """
    fabric.manage()
    fabric.answer("gpu-018", "gpu-019")
    theirs = Prober(fabric, "gpu-019", ["gpu-018"], There(fabric, "gpu-019"))
    await theirs.all()
    ways = theirs.probing.asks().worked
    ours = Prober(fabric, "gpu-017", ["gpu-018", "gpu-019"], There(fabric, "gpu-017"))
    lid = fabric.lid("gpu-019")
    fabric.unlink("gpu-019")
    await ours.all()
    ports = await ports_of(fabric, "gpu-018")
    alone = told(await ours.judged(ports))
    ours.probing.told(Receipt(worked={"gpu-019": ways}))
    result = await ours.judged(ports)
    await theirs.node.close()
    await ours.node.close()

    assert [(0xFFFF, lid)] == [(way.pkey, way.lid) for way in ways]
    assert ("ok", [("ib_ping_unreachable", "info", "gpu-019")]) == alone
    assert ("warning", [("ib_ping_unreachable", "warning", "gpu-019")]) == told(result)


async def test_a_partition_is_no_fault(fabric: Fabric) -> None:
    """Where nobody ever answered though the port is ACTIVE, one note says so."""
    fabric.manage()
    prober = Prober(fabric, "gpu-017", ["gpu-018", "gpu-019"])
    await prober.all()
    result = await prober.judged(await ports_of(fabric, "gpu-017"))
    await prober.node.close()

    assert ("ok", [("ib_partition_blocks_probe", "info", "node")]) == told(result)


async def test_a_stranger_that_is_silent_is_no_fault(fabric: Fabric) -> None:
    """A LID that nobody has never answered, so its silence proves nothing."""
    fabric.manage()
    fabric.answer("gpu-018")
    prober = Prober(fabric, "gpu-017", ["gpu-018"])
    stranger = Peer(name="gpu-044", lid=99, serves=True)
    prober.wanted = Wanted(peers=(*prober.wanted.peers, stranger), sample_s=0.2)
    await prober.turn("gpu-018")
    await prober.turn("gpu-044")
    result = await prober.judged(await ports_of(fabric, "gpu-017"))
    await prober.node.close()

    assert ("ok", [("ib_ping_unreachable", "info", "gpu-044")]) == told(result)


async def test_one_bad_cable_among_three_nodes_is_named(fabric: Fabric) -> None:
    """Three nodes probe one another: the ways that fail share the node with the cable."""
    names = ("gpu-017", "gpu-018", "gpu-019")
    fabric.manage()
    fabric.answer(*names)
    fabric.unlink("gpu-018")
    tried: dict[tuple[str, str], bool] = {}
    for own in names:
        prober = Prober(fabric, own, [name for name in names if name != own])
        await prober.all()
        tried |= {(own, probe.peer): probe.answered for probe in (await prober.seen()).probes}
        await prober.node.close()

    silent = {pair for pair in itertools.permutations(names, 2) if "gpu-018" in pair}
    assert (silent, "gpu-018") == ({p for p, ok in tried.items() if not ok}, worst_end(tried))


async def test_a_tool_that_never_returns(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its simulator the real ibping waits for ever: it is ended, and the peer is unseen."""
    fabric.manage()
    fabric.answer("gpu-018")
    prober = Prober(fabric, "gpu-017", ["gpu-018"])
    fabric.leave()
    monkeypatch.setattr(tool, "DEADLINE_S", 0.5)

    probes = await tool.ping(prober.node, prober.wanted.peers)
    await prober.node.close()

    assert [Cause.TIMEOUT] == [probe.missing.cause for probe in probes if probe.missing]


def test_ibping_says_success_at_full_loss(fabric: Fabric) -> None:
    """The real tool leaves with 0 though nothing came back: only its line tells."""
    fabric.manage()
    argv = [fabric.tools("gpu-017")["ibping"], *tool.OPTIONS, "-L", "99"]
    ran = run(argv, stdout=PIPE, text=True, check=False, timeout=20)

    hit = re.search(r"10 packets transmitted, 0 received, 100% packet loss", ran.stdout)
    assert (0, True) == (ran.returncode, hit is not None)


def test_ibstat_says_success_without_a_device() -> None:
    """On a machine without InfiniBand the real ibstat prints nothing and leaves with 0."""
    ran = run(["/usr/sbin/ibstat"], capture_output=True, text=True, check=False, timeout=20)

    assert (0, "") == (ran.returncode, ran.stdout)


async def test_no_device_is_no_tool_and_no_silence() -> None:
    """On a machine without ib_umad the real ibping's words read as absent, never as a lost ping."""
    node = Live()
    probes = await tool.ping(node, [Peer(name="gpu-018", lid=3)])
    await node.close()

    assert [(0, Cause.NO_TOOL)] == [(p.sent, p.missing.cause) for p in probes if p.missing]
