"""Where packets leave, by the kernel's own table."""

import asyncio
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.network.routes import RULES, TABLE, Route, Routes, collect, parse
from collectors.node.live import Live
from tests.recording import recorded

HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
# Bytes of network order, printed as a number of this machine.
ROWS = """\
bond0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eno1\t00000000\t017100CB\t0003\t0\t0\t200\t00000000\t0\t0\t0
bond0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
ib0\t006433C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
gone\t000200C0\t00000000\t0000\t0\t0\t0\t80FFFFFF\t0\t0\t0
*\t000010AC\t00000000\t0200\t0\t0\t0\t0000FFFF\t0\t0\t0
ib0\t006433C6\t00000000\t0001\t0\t0\t0\t00FFFF00\t0\t0\t0
"""
little = pytest.mark.skipif(sys.byteorder != "little", reason="the lines are of such a machine")


@little
def test_a_table_as_the_kernel_shows_it(tmp_path: Path) -> None:
    """Ways that are up are told by interface; a rejecting one, and an odd mask, are none."""
    index = {f"/sys/class/net/{n}/ifindex": f"{i}\n" for i, n in enumerate(("lo", "bond0"), 1)}
    node = recorded(tmp_path, files={TABLE: HEAD + ROWS, **index})

    expected = Routes(
        routes=(
            Route(interface="bond0", network="0.0.0.0/0", metric=100),
            Route(interface="eno1", network="0.0.0.0/0", metric=200),
            Route(interface="bond0", network="192.0.2.0/24", metric=100),
            Route(interface="ib0", network="198.51.100.0/24"),
        ),
        index={"lo": 1, "bond0": 2},
    )
    assert expected == asyncio.run(collect(node, Wanted()))


@little
@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.16", "bond0"),
        ("198.51.100.9", "ib0"),
        ("203.0.113.200", "bond0"),
        ("gpu-016", None),
        ("2001:db8::1", None),
    ],
)
def test_the_longest_way_with_the_least_metric_is_taken(address: str, expected: str | None) -> None:
    """As the kernel chooses; a name and an IPv6 address are not looked up."""
    assert expected == parse(HEAD + ROWS, Files(texts={})).to(address)


async def test_this_machine_has_an_order_of_interfaces() -> None:
    """The kernel of this machine tells the index of loopback."""
    node = Live()
    try:
        found = await collect(node, Wanted())
    finally:
        await node.close()

    assert isinstance(found, Routes)
    assert found.index["lo"] >= 1


@given(st.text(max_size=200), st.ip_addresses(v=4))
def test_no_table_makes_the_reader_raise(text: str, address: object) -> None:
    """Whatever stands in the file, ways come of it that can be asked."""
    routes = parse(f"{HEAD}{text}", Files(texts={}))

    assert routes.to(str(address)) in {None, *(route.interface for route in routes.routes)}


OWN = '{"priority":0,"src":"all","table":"local"},{"priority":32766,"src":"all","table":"main"}'


@little
@pytest.mark.parametrize(
    ("rule", "ruled", "ways"),
    [
        ("", (), ["bond0", "ib0"]),
        (
            ',{"src":"all","dst":"198.51.100.0","dstlen":24,"table":"101"}',
            ("198.51.100.0/24",),
            ["bond0", None],
        ),
        (
            ',{"src":"all","dst":"198.51.100.9","table":"101"}',
            ("198.51.100.9/32",),
            ["bond0", None],
        ),
        (',{"src":"all","table":"101"}', ("0.0.0.0/0",), [None, None]),
        (',{"src":"192.0.2.7","table":"102"}', (), ["bond0", "ib0"]),
        (',{"src":"all","fwmark":"0x2","table":"103"}', (), ["bond0", "ib0"]),
        (',{"src":"all","dst":"none","table":"104"}', (), ["bond0", "ib0"]),
        (',{"priority":1000,"src":"all","l3mdev":null}', (), ["bond0", "ib0"]),
    ],
    ids=[
        *("none of a site's", "a network", "a host", "everything", "one rail's own packets"),
        *("marked packets", "no network", "virtual routers"),
    ],
)
def test_a_rule_for_everybody_leaves_a_way_unknown(
    tmp_path: Path, rule: str, ruled: tuple[str, ...], ways: list[str | None]
) -> None:
    """Another table decides then, which is not read; rules for some packets change nothing."""
    command = {"argv": ["ip", "-4", "-j", "rule", "show"], "status": 0, "stdout": f"[{OWN}{rule}]"}
    node = recorded(tmp_path, files={TABLE: HEAD + ROWS}, commands=[command])
    seen = asyncio.run(collect(node, Wanted()))

    assert isinstance(seen, Routes)
    assert (ruled, ways) == (seen.ruled, [seen.to(to) for to in ("192.0.2.16", "198.51.100.9")])


@given(st.text())
def test_any_text_of_rules_is_borne(text: str) -> None:
    """Whatever the tool prints, the main table still counts."""
    assert () == parse("", Files(texts={}), text).ruled


@pytest.mark.tool("ip")
async def test_this_machine_answers_with_rules() -> None:
    """The real tool prints the kernel's own rules, by which every packet goes to the main table."""
    node = Live()
    try:
        got = await node.command("ip", *RULES, deadline_s=4.0)
    finally:
        await node.close()

    assert not isinstance(got, Missing)
    assert (True, ()) == (
        '"table":"main"' in got.stdout,
        parse("", Files(texts={}), got.stdout).ruled,
    )
