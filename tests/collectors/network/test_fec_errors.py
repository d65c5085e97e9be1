"""Blocks beyond correction by `ethtool -I`: who is asked, what rises, and older tools."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.fec_errors import FecErrors, Sampling, collect, parse
from collectors.network.interfaces import Interface, Interfaces
from collectors.node.live import Live
from tests.recording import recorded

QUIET = KernelLog(records=())
WORDS = ["ethtool", "--json", "-I", "--show-fec", "rail0"]
TOLD = [
    {
        "ifname": "rail0",
        "config": ["Auto"],
        "active": ["RS"],
        "statistics": {"corrected_blocks": {"total": 80211}, "uncorrectable_blocks": {"total": 3}},
    }
]
RAIL = Interface(name="rail0", speed_mbps=400_000, up=True, running=True, mtu=9000, physical=True)


def said(stdout: str = "", stderr: str = "") -> dict[str, Any]:
    return {"argv": WORDS, "status": 0, "stdout": stdout, "stderr": stderr}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps(TOLD), {"corrected_blocks": 80211, "uncorrectable_blocks": 3}),
        ('[{"ifname":"rail0","active":["RS"]}]', {}),
        ("ethtool: bad command line argument(s)\n", {}),
        ("FEC parameters for rail0:\nActive FEC encoding: RS\n", {}),
        ('[{"statistics":{"uncorrectable_blocks":{"total":-1}}}]', {}),
        ("[]", {}),
    ],
)
def test_blocks_are_read_where_they_are_told(text: str, expected: dict[str, int]) -> None:
    """Drivers without statistics, and tools that do not know -I, tell none."""
    assert expected == parse(text)


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_text_is_borne(text: str) -> None:
    """Whatever a tool prints, numbers of 64 bits come out, or none."""
    assert all(0 <= value < 1 << 64 for value in parse(text).values())


def test_two_readings_of_one_count_rise_by_nothing(tmp_path: Path) -> None:
    """A recording answers twice with the same: one port was seen, and nothing rose."""
    node = recorded(tmp_path, commands=[said(json.dumps(TOLD))])
    seen = asyncio.run(collect(node, Wanted(), Interfaces(interfaces=(RAIL,)), QUIET))

    assert isinstance(seen, FecErrors)
    assert (1, {"rail0": 400_000}, [{}]) == (
        seen.seen,
        seen.speeds_mbps,
        [port.per_s for port in seen.ports],
    )


def test_a_tool_that_tells_none_is_no_blind_spot(tmp_path: Path) -> None:
    """Nothing was seen, nothing is missing: whether correction is on another question tells."""
    node = recorded(tmp_path, commands=[said(stderr="ethtool: bad command line argument(s)\n")])
    seen = asyncio.run(collect(node, Wanted(), Interfaces(interfaces=(RAIL,)), QUIET))

    assert FecErrors(speeds_mbps={"rail0": 400_000}) == seen


def test_a_refusal_ends_the_tier(tmp_path: Path) -> None:
    """After `Operation not permitted` no card is asked again in this boot."""
    node = recorded(tmp_path, commands=[said(stderr="netlink error: Operation not permitted\n")])
    sampling, nics = Sampling(), Interfaces(interfaces=(RAIL,))
    causes = []
    for _ in range(2):
        seen = asyncio.run(sampling.collect(node, Wanted(), nics, QUIET))
        assert isinstance(seen, Missing)
        causes.append(seen.cause)

    assert [Cause.DENIED, Cause.HELD_BACK] == causes


def test_slow_ports_cost_no_process(tmp_path: Path) -> None:
    """Below 100 Gb/s nothing is asked, and nothing is missing."""
    slow = Interface(name="eno1", speed_mbps=1000, up=True, running=True, mtu=1500, physical=True)
    seen = asyncio.run(collect(recorded(tmp_path), Wanted(), Interfaces(interfaces=(slow,)), QUIET))

    assert FecErrors() == seen


@pytest.mark.tool("ethtool")
async def test_the_real_tool_knows_the_words() -> None:
    """On the loopback interface it prints no statistics, and no complaint about its words."""
    node = Live()
    try:
        got = await node.command("ethtool", "--json", "-I", "--show-fec", "lo", deadline_s=4.0)
    finally:
        await node.close()

    assert not isinstance(got, Missing)
    assert ({}, False) == (parse(got.stdout), "bad command line" in got.stdout + got.stderr)
