"""Probes over IP, by real tools through real interfaces of the kernel."""

import re
import select
from subprocess import Popen

import pytest

from agent.walk.walk import Selection, walk
from collectors.facts.wanted import Peer, Wanted
from collectors.network import bandwidth as measuring
from collectors.node.live import Live
from diagnostics.check import Result
from tests.lab.namespaces.pair import Pair

# One at a time: interfaces that come and go meanwhile are seen by the walk, which says so.
pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.tool("ip", "ping", "iptables"),
]

SPEAKS = """
import socket
with socket.create_server(("", 22)) as server:
    print("ready", flush=True)
    while True:
        accepted = server.accept()[0]
        accepted.sendall(b"SSH-2.0-OpenSSH_9.6\\r\\n")
        accepted.close()
"""
MUTE = """
import socket, time
with socket.create_server(("", 22)) as server:
    print("ready", flush=True)
    kept = []
    while True:
        kept.append(server.accept())
"""


async def judged(pair: Pair, check: str, *, bandwidth: bool = False) -> Result:
    """Walk this machine for one check, with the other host as its peer."""
    peers = (Peer(name="gpu-018", address=pair.address),)
    wanted = Wanted(peers=peers, sample_s=0.2, bandwidth=bandwidth)
    node = Live()
    try:
        stages = await walk(node, wanted, Selection(checks=(check,)), {})
    finally:
        await node.close()
    return stages[0].results[0]


def told(result: Result) -> tuple[str, list[tuple[str, str]]]:
    """Return the verdict, and of each finding its fault and severity."""
    return result.verdict, [(f.fault, f.severity) for f in result.findings]


def ready(started: Popen[bytes]) -> None:
    """Wait until the server listens."""
    assert started.stdout is not None
    assert select.select([started.stdout], [], [], 20.0)[0], "the server did not start"
    started.stdout.readline()


async def test_a_healthy_way_is_well(pair: Pair) -> None:
    """Small and full packets both come back."""
    ping, size = await judged(pair, "network.ping"), await judged(pair, "network.full_mtu")

    assert ["1 of 1 peers answer ping", "1 of 1 peers answer packets of MTU 1500"] == [
        ping.message,
        size.message,
    ]


async def test_lost_packets_are_counted(pair: Pair) -> None:
    """A peer that drops every second ping has lost three of five, and is a warning."""
    pair.lose(every=2)

    result = await judged(pair, "network.ping")

    assert ("warning", [("ping_loss", "warning")]) == told(result)
    assert f"3 of 5 ping packets to gpu-018 ({pair.address}) were lost" == result.message


async def test_a_link_that_is_down_is_unreachable(pair: Pair) -> None:
    """With the peer's end down nothing comes back."""
    pair.pull()

    assert ("warning", [("ping_unreachable", "warning")]) == told(
        await judged(pair, "network.ping")
    )


async def test_a_smaller_mtu_at_the_other_end(pair: Pair) -> None:
    """Jumbo frames on this side alone: small packets pass, full ones vanish."""
    pair.mtu(ours=9000, theirs=1500)

    ping, size = await judged(pair, "network.ping"), await judged(pair, "network.full_mtu")

    assert ["ok", ("warning", [("mtu_mismatch", "warning")])] == [ping.verdict, told(size)]
    assert size.message == (
        f"gpu-018 ({pair.address}) answers small packets, and none of 3 of 9000 bytes, the MTU of "
        f"{pair.ours} here"
    )


async def test_jumbo_frames_on_both_sides_are_well(pair: Pair) -> None:
    """The same packets come back where both ends allow them."""
    pair.mtu(ours=9000, theirs=9000)

    assert ("ok", []) == told(await judged(pair, "network.full_mtu"))


async def test_a_server_that_speaks(pair: Pair) -> None:
    """An sshd says its first line by itself; nothing is sent to it."""
    ready(pair.serve("python3", "-c", SPEAKS))

    result = await judged(pair, "network.ssh")

    assert ("ok", "1 of 1 peers answer on port 22") == (result.verdict, result.message)


@pytest.mark.parametrize(
    ("program", "words"),
    [(MUTE, "accepts, and then says nothing"), (None, "refuses connections")],
    ids=["mute", "refused"],
)
async def test_a_port_without_a_word(pair: Pair, program: str | None, words: str) -> None:
    """A port that accepts and is mute is told from one that refuses; alone, both are notes."""
    if program is not None:
        ready(pair.serve("python3", "-c", program))

    result = await judged(pair, "network.ssh")

    assert ("ok", [("ssh_unreachable", "info")], True) == (*told(result), words in result.message)


@pytest.mark.tool("iperf3")
async def test_bandwidth_is_measured_beside_the_line(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real iperf3 against a real server: what came through stands beside the line's rate."""
    ready(pair.serve("iperf3", "-s", "-1", "--forceflush"))
    monkeypatch.setattr(measuring, "IPERF", ("-J", "-t", "1", "-P", "2"))

    result = await judged(pair, "network.bandwidth", bandwidth=True)

    form = rf"gpu-018 by {pair.ours}: (iperf3 reaches )?\d+(\.\d+)? of 10 Gb/s"
    assert re.match(form, result.message), result.message
