"""`ping`: its statistics line in all its forms, and the real tool on this machine."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Output
from collectors.facts.observation import Cause
from collectors.facts.wanted import Peer, Wanted
from collectors.network.peers import Probe
from collectors.network.ping import Pings, collect, parse
from collectors.node.live import Live
from tests.recording import recorded

WHOLE = """PING 192.0.2.18 (192.0.2.18) 56(84) bytes of data.

--- 192.0.2.18 ping statistics ---
5 packets transmitted, 5 received, 0% packet loss, time 811ms
rtt min/avg/max/mdev = 0.103/0.164/0.291/0.066 ms
"""
ERRORS = """PING 192.0.2.18 (192.0.2.18) 56(84) bytes of data.

--- 192.0.2.18 ping statistics ---
5 packets transmitted, 0 received, +5 errors, 100% packet loss, time 4102ms
pipe 4
"""
BUSYBOX = """PING 192.0.2.18 (192.0.2.18): 56 data bytes

--- 192.0.2.18 ping statistics ---
5 packets transmitted, 4 packets received, 20% packet loss
round-trip min/avg/max = 0.210/0.305/0.412 ms
"""


def output(stdout: str = "", stderr: str = "", status: int = 0) -> Output:
    return Output(argv=("ping",), status=status, stdout=stdout, stderr=stderr)


def probe(sent: int, received: int, said: str, *rtt: float) -> Probe:
    fastest, average = rtt or (None, None)
    return Probe(
        peer="gpu-018",
        target="192.0.2.18",
        address="192.0.2.18" if sent else None,
        sent=sent,
        received=received,
        rtt_min_ms=fastest,
        rtt_avg_ms=average,
        said=said,
    )


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (output(WHOLE), probe(5, 5, WHOLE.splitlines()[3], 0.103, 0.164)),
        (output(ERRORS, status=1), probe(5, 0, ERRORS.splitlines()[3])),
        (output(BUSYBOX), probe(5, 4, BUSYBOX.splitlines()[3], 0.210, 0.305)),
        (
            output(stderr="ping: connect: Network is unreachable\n", status=2),
            probe(0, 0, "ping: connect: Network is unreachable"),
        ),
    ],
    ids=["whole", "errors", "busybox", "no route"],
)
def test_what_ping_says(got: Output, expected: Probe) -> None:
    """The statistics line is read in each form, with the fastest and the average time."""
    assert expected == parse("gpu-018", "192.0.2.18", got)


def test_a_name_that_is_not_known() -> None:
    """A peer that was never pinged is unseen, with ping's own reason."""
    got = output(stderr="ping: gpu-018: Name or service not known\n", status=2)

    missing = parse("gpu-018", "gpu-018", got).missing

    assert missing is not None
    assert ("garbled", "ping: gpu-018: Name or service not known") == (
        missing.cause.value,
        missing.detail,
    )


@given(st.integers(1, 999), st.integers(0, 999))
def test_counts_round_trip(sent: int, received: int) -> None:
    """Counts are read as they were printed; more answers than questions are duplicates."""
    got = output(f"{sent} packets transmitted, {received} received, 0% packet loss, time 9ms\n")

    read = parse("gpu-018", "192.0.2.18", got)

    assert (sent, min(received, sent)) == (read.sent, read.received)


@given(st.text(), st.text())
def test_any_output_is_read(stdout: str, stderr: str) -> None:
    """No output makes the parser raise, and none without the line counts as an answer."""
    read = parse("gpu-018", "192.0.2.18", output(stdout, stderr))

    assert not read.answered or "packets transmitted" in stdout


def test_peers_without_an_address_are_not_pinged(tmp_path: Path) -> None:
    """A peer with a LID alone is for ibping."""
    wanted = Wanted(peers=(Peer(name="gpu-018", lid=12),))

    assert Pings() == asyncio.run(collect(recorded(tmp_path), wanted))


async def live(address: str) -> Probe:
    """Ping for real."""
    node = Live()
    seen = await collect(node, Wanted(peers=(Peer(name="peer", address=address),)))
    await node.close()
    assert isinstance(seen, Pings)
    return seen.probes[0]


@pytest.mark.tool("ping")
async def test_this_machine_answers_itself() -> None:
    """A real ping to the loopback loses nothing and takes under 5 ms at best."""
    read = await live("127.0.0.1")

    assert (5, 5, True) == (read.sent, read.received, (read.rtt_min_ms or 99.0) < 5.0)


def done(tool: str, *args: str) -> None:
    """Run a tool that must succeed."""
    path = shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin")
    assert path is not None
    run([path, *args], check=True)


def pair(number: int) -> IPv4Network:
    """Return one of the 32,768 networks of two hosts in the range for benchmarks (RFC 2544)."""
    return IPv4Network((int(IPv4Address("198.18.0.0")) + number % 32_768 * 4, 30))


@pytest.fixture
def neighbour() -> Iterator[tuple[str, str]]:
    """Give this machine a neighbour: a network namespace behind a pair of interfaces.

    Name and addresses are this process's own: other tests run beside it in the same network.
    """
    name = f"gdn{os.getpid() % 100_000}"
    ours, theirs = list(pair(os.getpid()).hosts())
    inside = ["ip", "netns", "exec", name]
    done("ip", "netns", "add", name)
    try:
        done("ip", "link", "add", name, "type", "veth", "peer", "name", "far", "netns", name)
        done("ip", "address", "add", f"{ours}/30", "dev", name)
        done("ip", "link", "set", name, "up")
        done(*inside, "ip", "address", "add", f"{theirs}/30", "dev", "far")
        done(*inside, "ip", "link", "set", "far", "up")
        yield name, str(theirs)
    finally:
        # The kernel takes a namespace apart later: its link would still answer the next test.
        done("ip", "link", "delete", name)
        done("ip", "netns", "delete", name)


@pytest.mark.root
@pytest.mark.tool("ping", "ip", "iptables")
@pytest.mark.parametrize(
    ("drops", "received"),
    [
        ([], 5),
        (["-m", "statistic", "--mode", "nth", "--every", "2", "--packet", "1"], 3),
        (["-m", "statistic", "--mode", "nth", "--every", "1", "--packet", "0"], 0),
    ],
    ids=["none", "every second", "all"],
)
def test_a_neighbour_that_drops(
    neighbour: tuple[str, str], drops: list[str], received: int
) -> None:
    """A neighbour that drops none, every second or all packets is told by its numbers."""
    namespace, address = neighbour
    if drops:
        rule = ("iptables", "-A", "INPUT", "-p", "icmp", *drops, "-j", "DROP")
        done("ip", "netns", "exec", namespace, *rule)

    read = asyncio.run(live(address))

    assert (5, received) == (read.sent, read.received)


@pytest.mark.root
@pytest.mark.tool("ping", "ip")
def test_a_neighbour_that_is_switched_off(neighbour: tuple[str, str]) -> None:
    """With the other end switched off nothing comes back, and that is no unseen."""
    namespace, address = neighbour
    done("ip", "netns", "exec", namespace, "ip", "link", "set", "far", "down")

    read = asyncio.run(live(address))

    assert (False, None) == (read.answered, read.missing)


async def test_a_tool_that_is_not_there() -> None:
    """Without ping every peer is unseen for that reason."""
    node = Live(tools={"ping": "/nonexistent/ping"})
    seen = await collect(node, Wanted(peers=(Peer(name="gpu-018", address="192.0.2.18"),)))
    await node.close()

    assert isinstance(seen, Pings)
    assert [Cause.NO_TOOL] == [p.missing.cause for p in seen.probes if p.missing]
