"""Settings of interfaces and bonds as sysfs shows them."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.wanted import Wanted
from collectors.network.interface_settings import (
    CLASS,
    Bond,
    InterfaceSettings,
    Member,
    collect,
    parse,
)
from tests.recording import recorded

FILES = {
    f"{CLASS}/ib0/mtu": "2044\n",
    f"{CLASS}/ib0/mode": "datagram\n",
    f"{CLASS}/bond0/mtu": "9000\n",
    f"{CLASS}/bond0/bonding/mode": "802.3ad 4\n",
    f"{CLASS}/bond0/bonding/slaves": "ens1f0 ens1f1\n",
    f"{CLASS}/ens1f0/bonding_slave/mii_status": "up\n",
    f"{CLASS}/ens1f0/bonding_slave/ad_aggregator_id": "1\n",
    f"{CLASS}/ens1f1/bonding_slave/mii_status": "down\n",
}


def test_what_sysfs_says(tmp_path: Path) -> None:
    """MTU as numbers, IPoIB's mode, and each member with its state and group."""
    members = (
        Member(name="ens1f0", mii="up", aggregator=1),
        Member(name="ens1f1", mii="down"),
    )
    expected = InterfaceSettings(
        mtu={"bond0": 9000, "ib0": 2044},
        ipoib={"ib0": "datagram"},
        bonds=(Bond(name="bond0", mode="802.3ad", members=members),),
    )
    assert expected == asyncio.run(collect(recorded(tmp_path, files=FILES), Wanted()))


@given(st.dictionaries(st.sampled_from(sorted(FILES)), st.text(max_size=40)))
def test_any_text_is_read(texts: dict[str, str]) -> None:
    """A number is one of up to six digits; all else is left out, and nothing raises."""
    seen = parse(Files(texts=texts))

    assert True is all(0 <= mtu < 1_000_000 for mtu in seen.mtu.values())
