"""Interfaces: what the helper says, joined with sysfs; on this machine too."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.interfaces import Interface, Interfaces, collect, parse
from collectors.node.live import Live
from tests.recording import recorded

LINK = {"up": True, "running": True, "mtu": 9000, "speed_mbps": 25000, "addresses": []}


async def live() -> dict[str, Interface]:
    """Return this machine's interfaces by name."""
    node = Live()
    seen = await collect(node, Wanted())
    await node.close()
    assert isinstance(seen, Interfaces)
    return {one.name: one for one in seen.interfaces}


def test_bond_device_and_kind_come_from_sysfs(tmp_path: Path) -> None:
    """A member knows its bond, a card is physical, and IPoIB is told from Ethernet."""
    files = {
        "/sys/class/net/eth0/type": "1\n",
        "/sys/class/net/ib0/type": "32\n",
        "/sys/class/net/bond0/type": "1\n",
        "/sys/class/net/bond0/bonding/slaves": "eth0 eth1\n",
        "/sys/class/net/eth0/device": "",
        "/sys/class/net/ib0/device": "",
    }
    answer = {
        "bond0": LINK | {"addresses": ["192.0.2.17", "2001:db8::17"]},
        "eth0": LINK,
        "ib0": LINK | {"speed_mbps": None, "running": False},
    }
    node = recorded(tmp_path, files=files, answers=[{"kind": "interfaces", "answer": answer}])

    seen = asyncio.run(collect(node, Wanted()))

    assert isinstance(seen, Interfaces)
    told = [(i.name, i.physical, i.infiniband, i.bond, i.running) for i in seen.interfaces]
    expected = [
        ("bond0", False, False, None, True),
        ("eth0", True, False, "bond0", True),
        ("ib0", True, True, None, False),
    ]
    assert expected == told


async def test_loopback_of_this_machine() -> None:
    """The loopback is up with its address, has no device behind it and no speed."""
    loopback = (await live())["lo"]

    told = (loopback.up, loopback.physical, loopback.speed_mbps, "127.0.0.1" in loopback.addresses)
    assert (True, False, None, True) == told


@pytest.fixture
def half_pair() -> Iterator[str]:
    """Make a pair of interfaces with an address, one end switched on, the other off."""
    name = f"gd{os.getpid() % 100_000}"
    ip = shutil.which("ip", path="/usr/sbin:/usr/bin:/sbin:/bin")
    assert ip is not None
    run([ip, "link", "add", name, "type", "veth", "peer", "name", f"{name}p"], check=True)
    try:
        run([ip, "address", "add", "198.51.100.1/30", "dev", name], check=True)
        run([ip, "link", "set", name, "up"], check=True)
        yield name
    finally:
        run([ip, "link", "delete", name], check=True)


@pytest.mark.root
@pytest.mark.tool("ip")
async def test_an_interface_without_its_other_end(half_pair: str) -> None:
    """An interface that is switched on and whose other end is off is up and does not run."""
    one = (await live())[half_pair]

    assert (True, False, ("198.51.100.1",)) == (one.up, one.running, one.addresses)


def test_the_helper_that_did_not_answer(tmp_path: Path) -> None:
    """A hung helper is the reason, not an empty list."""
    missing = {"cause": "timeout", "detail": "no answer in 5 s"}
    node = recorded(tmp_path, answers=[{"kind": "interfaces", "missing": missing}])

    seen = asyncio.run(collect(node, Wanted()))

    assert isinstance(seen, Missing)
    assert seen.cause is Cause.TIMEOUT


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_answer_is_read(answer: object) -> None:
    """Whatever JSON comes back is interfaces or garbled, and raises nothing."""
    seen = parse(answer, Files(texts={}))

    assert isinstance(seen, Interfaces) or seen.cause is Cause.GARBLED
