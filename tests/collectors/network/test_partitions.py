"""Partitions of ports: which P_Key stands where, and who can talk to whom."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.network.partitions import Place, may_talk, parse, place
from tests.recording import recorded

PORT = "/sys/class/infiniband/mlx5_{}/ports/1"
FILES = {
    f"{PORT.format(0)}/pkeys/0": "0xffff\n",
    f"{PORT.format(0)}/lid": "0x2c\n",
    f"{PORT.format(1)}/pkeys/0": "0xffff\n",
    f"{PORT.format(1)}/lid": "0x2d\n",
}


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("mlx5_0", Place(pkey=0xFFFF, lid=0x2C)),
        ("mlx5_7", Place()),
        ("", Place(pkey=0xFFFF)),
    ],
)
def test_a_port_is_somewhere(tmp_path: Path, device: str, expected: Place) -> None:
    """P_Key and LID of one device; without a name what all have alike."""
    assert expected == asyncio.run(place(recorded(tmp_path, files=FILES), device))


def test_no_number_is_none() -> None:
    """A table that is empty and a port without a LID hold 0, which names nothing."""
    texts = {f"{PORT.format(0)}/pkeys/0": "0x0000", f"{PORT.format(0)}/lid": "0x0"}

    assert Place() == parse(Files(texts=texts))


@given(st.text(), st.text())
def test_any_text_is_borne(pkey: str, lid: str) -> None:
    """Whatever the files hold, a number of 16 bits comes out, or none."""
    seen = parse(Files(texts={f"{PORT.format(0)}/pkeys/0": pkey, f"{PORT.format(0)}/lid": lid}))

    assert all(n is None or 0 < n <= 0xFFFF for n in (seen.pkey, seen.lid))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (0xFFFF, 0xFFFF, True),
        (0x7FFF, 0xFFFF, True),
        (0x7FFF, 0x7FFF, False),
        (0x8001, 0xFFFF, False),
        (None, 0xFFFF, False),
    ],
    ids=["full", "one limited", "both limited", "two partitions", "unknown"],
)
def test_who_can_talk(one: int | None, other: int | None, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """Two limited members of a partition hear nothing of each other."""
    assert (expected, expected) == (may_talk(one, other), may_talk(other, one))
