"""Whether ports are busy: from two readings of their counters, on a recording's clock."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.network.traffic import heavy, loads
from tests.recording import recorded, write

PORT = "/sys/class/infiniband/mlx5_0/ports/1"
NIC = "/sys/class/net/ens3f0np0"


def busy(tmp_path: Path, before: dict[str, str], after: dict[str, str]) -> str | None:
    """Return why no probe is sent, with the counters of two times a second apart."""
    write(tmp_path / "at" / "1", files=after)
    missing = asyncio.run(heavy(recorded(tmp_path, files=before), 1.0))
    return missing.detail if missing else None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (9_700_000_000, "port mlx5_0/1 carries 310 of 400 Gb/s of traffic"),
        (6_000_000_000, None),
        (0, None),
    ],
)
def test_a_port_counts_in_words(tmp_path: Path, words: int, said: str | None) -> None:
    """Half of a port's rate in its busier direction holds probes back; counters are of 4 bytes."""
    counters = {f"{PORT}/counters/port_{way}_data": "1000" for way in ("xmit", "rcv")}
    before = {f"{PORT}/rate": "400 Gb/sec (4X NDR)", **counters}
    after = {f"{PORT}/counters/port_rcv_data": str(1000 + words)}

    assert said == busy(tmp_path, before, after)


def test_an_interface_counts_in_bytes(tmp_path: Path) -> None:
    """An Ethernet interface with 11 GB in a second carries 88 of its 100 Gb/s."""
    counters = {f"{NIC}/statistics/{way}_bytes": "5" for way in ("tx", "rx")}
    after = {f"{NIC}/statistics/tx_bytes": str(11_000_000_005)}

    said = busy(tmp_path, {f"{NIC}/speed": "100000", **counters}, after)

    assert said == "interface ens3f0np0 carries 88 of 100 Gb/s of traffic"


def test_a_counter_that_began_anew_is_no_traffic(tmp_path: Path) -> None:
    """After a reset of the counter nothing is concluded."""
    before = {f"{PORT}/rate": "400 Gb/sec (4X NDR)", f"{PORT}/counters/port_rcv_data": "99999"}

    assert busy(tmp_path, before, {f"{PORT}/counters/port_rcv_data": "5"}) is None


def test_without_counters_no_time_passes(tmp_path: Path) -> None:
    """A node that shows no counters is not waited for."""
    node = recorded(tmp_path)

    assert (None, 0.0) == (asyncio.run(heavy(node, 1.0)), node.monotonic())


@given(st.text(), st.text(), st.text())
def test_any_text_is_read(rate: str, first: str, last: str) -> None:
    """Whatever stands in the files, nothing is raised and no load is below zero."""
    path = f"{PORT}/counters/port_rcv_data"
    before, after = Files(texts={path: first}), Files(texts={path: last, f"{PORT}/rate": rate})

    assert [] == [load for load in loads(before, after, 1.0) if load.gbps < 0]
