"""Packets of full size: the route's interface, its MTU, what ping says; real ones in the lab."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.full_mtu import OPTIONS, FullSize, FullSizes, collect, device, parse
from collectors.network.peers import Probe
from collectors.network.ping import Pings
from tests.recording import recorded

READ = FullSize(peer="gpu-018", target="192.0.2.18", interface="ens3f0np0", mtu=9000)
LOST = "3 packets transmitted, 0 received, 100% packet loss, time 2031ms"


def output(stdout: str = "", stderr: str = "", status: int = 0) -> Output:
    return Output(argv=("ping",), status=status, stdout=stdout, stderr=stderr)


def test_a_routers_word_is_kept() -> None:
    """Where a router or this host says that the packet is too long, its words are the evidence."""
    router = "From 192.0.2.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)"
    host = "ping: local error: message too long, mtu=1500"

    said = [
        parse(READ, output(f"{router}\n{LOST}\n")).said,
        parse(READ, output(f"{LOST}\n", f"{host}\n", 1)).said,
        parse(READ, output(f"{LOST}\n")).said,
    ]

    assert [router, host, LOST] == said


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b", "x" * 16])
def test_a_name_that_is_no_interface(name: str) -> None:
    """What becomes part of a path is a name of the kernel's form."""
    assert isinstance(device(output(json.dumps([{"dev": name}]))), Missing)


@given(st.text(), st.text())
def test_any_output_is_read(stdout: str, stderr: str) -> None:
    """No output makes the parsers raise, and none without the line counts as an answer."""
    read = parse(READ, output(stdout, stderr))

    assert device(output(stdout, stderr))
    assert not read.received or "packets transmitted" in stdout


def told(tmp_path: Path, probe: Probe, **parts: Any) -> list[tuple[str, int, int]]:
    """Return of each peer its address, the MTU and the answers."""
    node = recorded(tmp_path, **parts)
    seen = asyncio.run(collect(node, Wanted(), Pings(probes=(probe,))))
    assert isinstance(seen, FullSizes)
    return [(one.target, one.mtu, one.received) for one in seen.peers]


@pytest.mark.parametrize(("address", "size"), [("192.0.2.18", "8972"), ("2001:db8::18", "8952")])
def test_headers_are_taken_off(tmp_path: Path, address: str, size: str) -> None:
    """A packet of IP and ICMP headers and so many bytes is as large as the MTU."""
    probe = Probe(peer="gpu-018", target="gpu-018", address=address, sent=5, received=5)
    commands = [
        {
            "argv": ["ip", "-j", "route", "get", address],
            "stdout": '[{"dst":"x","dev":"ens3f0np0"}]',
        },
        {
            "argv": ["ping", *OPTIONS, "-s", size, address],
            "stdout": "3 packets transmitted, 3 received, 0% packet loss, time 402ms\n",
        },
    ]
    files = {"/sys/class/net/ens3f0np0/mtu": "9000\n"}

    assert [(address, 9000, 3)] == told(tmp_path, probe, commands=commands, files=files)


def test_who_does_not_answer_small_packets_gets_no_large_ones(tmp_path: Path) -> None:
    """A peer that is silent anyway is told by ping, and is not asked again."""
    silent = Probe(peer="gpu-018", target="192.0.2.18", sent=5, received=0)

    assert [] == told(tmp_path, silent)


def test_pings_that_were_held_back_hold_these_back(tmp_path: Path) -> None:
    """Without pings there is nothing to follow, for the same reason."""
    held = Missing(what="probes of peers", cause=Cause.HELD_BACK, detail="busy")

    assert held == asyncio.run(collect(recorded(tmp_path), Wanted(), held))
