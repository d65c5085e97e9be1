"""Error correction by `ethtool --show-fec`: which ports are asked, and what they say."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.fec import Fec, Looking, PortFec, collect, parse
from collectors.network.interfaces import Interface, Interfaces
from collectors.node.live import Live
from tests.recording import recorded

QUIET = KernelLog(records=())
TEXT = """FEC parameters for rail0:
Supported/Configured FEC encodings: Auto Off RS
Active FEC encoding: RS
"""
OLDER = "FEC parameters for rail0:\nConfigured FEC encodings: Auto\nActive FEC encoding: Off\n"
SEVERAL = "Active FEC encodings: RS LLRS\n"


def nic(name: str, speed: int, **parts: Any) -> Interface:
    said = {"up": True, "running": True, "mtu": 9000, "physical": True, **parts}
    return Interface(name=name, speed_mbps=speed, **said)


def said(stdout: str = "", stderr: str = "", status: int = 0) -> dict[str, Any]:
    argv = ["ethtool", "--show-fec", "rail0"]
    return {"argv": argv, "status": status, "stdout": stdout, "stderr": stderr}


@pytest.mark.parametrize(
    ("text", "configured", "active"),
    [
        (TEXT, ("Auto", "Off", "RS"), ("RS",)),
        (OLDER, ("Auto",), ("Off",)),
        (SEVERAL, (), ("RS", "LLRS")),
        ("Active FEC encoding: None\n", (), ()),
        ("", (), ()),
    ],
)
def test_both_texts_are_read(
    text: str, configured: tuple[str, ...], active: tuple[str, ...]
) -> None:
    """The words of ethtool 4 and of 6; a driver that tells none has none."""
    expected = PortFec(name="rail0", speed_mbps=400000, configured=configured, active=active)

    assert expected == parse("rail0", 400000, text)


def test_only_fast_ethernet_ports_with_a_link_are_asked(tmp_path: Path) -> None:
    """Slow ports, InfiniBand, bonds and ports without a link cost no process."""
    node = recorded(tmp_path, commands=[said(TEXT)])
    interfaces = Interfaces(
        interfaces=(
            nic("rail0", 400000),
            nic("eno1", 25000),
            nic("ib0", 400000, infiniband=True),
            nic("bond0", 800000, physical=False),
            nic("rail1", 400000, running=False),
        )
    )
    seen = asyncio.run(collect(node, Wanted(), interfaces, QUIET))

    assert isinstance(seen, Fec)
    assert (["rail0"], ()) == ([port.name for port in seen.ports], seen.silent)


def test_who_may_not_ask_asks_once(tmp_path: Path) -> None:
    """A refusal holds for the boot."""
    node = recorded(tmp_path, commands=[said(stderr="netlink error: Operation not permitted\n")])
    interfaces = Interfaces(interfaces=(nic("rail0", 400000),))

    async def twice() -> list[Cause | None]:
        looking = Looking()
        seen = [await looking.collect(node, Wanted(), interfaces, QUIET) for _ in range(2)]
        return [one.cause if isinstance(one, Missing) else None for one in seen]

    assert [Cause.DENIED, Cause.HELD_BACK] == asyncio.run(twice())


@given(st.text(max_size=300))
def test_any_text_is_a_port(text: str) -> None:
    """What no pattern fits tells of no correction, and a line of any length ends."""
    port = parse("rail0", 400000, f"Active FEC encoding: {text}")

    assert True is all(len(one) <= 61 for one in port.active)


@pytest.mark.tool("ethtool")
async def test_a_real_tool_says_of_loopback_that_it_has_none() -> None:
    """What a driver without correction becomes is a port that tells nothing, and no refusal."""
    node = Live()
    interfaces = Interfaces(interfaces=(nic("lo", 100000),))
    seen = await collect(node, Wanted(), interfaces, QUIET)
    await node.close()

    assert Fec(ports=(PortFec(name="lo", speed_mbps=100000),)) == seen
