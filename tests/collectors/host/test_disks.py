"""Disk activity between two samples."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host import disks
from collectors.host.disks import PATH, Counters, Disk, DiskActivity
from collectors.node.live import Live
from collectors.node.recorded import Recorded
from tests.recording import recorded, write

FIRST = """
   7       0 loop0 14 0 34 0 0 0 0 0 0 4 0
 253       0 dm-0 400 0 3200 80 90 0 720 9 0 40 89 0 0 0 0
 259       1 nvme0n1 10000 31 80000 2900 500 9 4000 60 2 1200 2960 6510 53 165336 476 1532 63
 259       2 nvme0n1p1 9000 31 72000 2800 500 9 4000 60 0 1200 2860 0 0 0 0 0 0
 259       3 nvme1n1 5 0 40 1 0 0 0 0 0 1 1 0 0 0 0 0 0
   8       0 sda 100 0 800 4294967000 0 0 0 0 0 10 10
   9     127 md127 70 0 560 0 0 0 0 0 0 0 0
"""
SECOND = """
 259       1 nvme0n1 10400 31 83200 2980 600 9 5600 80 3 1700 3060 6510 53 165336 476 1532 63
 259       3 nvme1n1 2 0 16 1 0 0 0 0 0 1 1 0 0 0 0 0 0
   8       0 sda 101 0 808 4 0 0 0 0 1 1010 10
   9     127 md127 70 0 560 0 0 0 0 0 0 0 0
"""


def test_between_two_samples(tmp_path: Path) -> None:
    """Whole local disks alone; one that was exchanged is left out; 32-bit times wrap."""
    rotational = {"/sys/block/sda/queue/rotational": "1\n"}
    folder = write(tmp_path, files={PATH: FIRST, **rotational})
    write(tmp_path / "at" / "1", files={PATH: SECOND})
    recording = Recorded(folder)
    expected = DiskActivity(
        seconds=1.0,
        disks=(
            Disk(
                name="nvme0n1",
                requests=500,
                wait_ms=0.2,
                bytes_per_s=4800 * 512.0,
                in_flight_before=2,
                in_flight=3,
                busy_percent=50.0,
            ),
            Disk(
                name="sda",
                requests=1,
                wait_ms=300.0,
                bytes_per_s=4096.0,
                in_flight_before=0,
                in_flight=1,
                busy_percent=100.0,
                rotational=True,
            ),
            Disk(
                name="md127",
                requests=0,
                bytes_per_s=0.0,
                in_flight_before=0,
                in_flight=0,
                busy_percent=0.0,
            ),
        ),
    )

    assert expected == asyncio.run(disks.collect(recording, Wanted(sample_s=1.0)))


def test_no_diskstats_is_missing(tmp_path: Path) -> None:
    """A node without the file is not a node without disks."""
    got = asyncio.run(disks.collect(recorded(tmp_path), Wanted()))

    assert isinstance(got, Missing)


async def test_this_machine() -> None:
    """A real kernel's lines are understood, and no time runs backwards."""
    node = Live()
    seen = await disks.collect(node, Wanted(sample_s=0.2))
    await node.close()
    assert isinstance(seen, DiskActivity)

    assert all(disk.requests >= 0 and 0 <= disk.busy_percent <= 100 for disk in seen.disks)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever stands there, reading it does not fail."""
    disks.parse(text)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=11, max_size=17))
def test_counters_come_back(counts: list[int]) -> None:
    """Reads and writes are added up; kernels before 5.5 print fewer columns."""
    line = f" 259       1 nvme12n1 {' '.join(map(str, counts))}"
    expected = Counters(
        requests=counts[0] + counts[4],
        sectors=counts[2] + counts[6],
        waited_ms=counts[3] + counts[7],
        in_flight=counts[8],
        busy_ms=counts[9],
    )

    assert {"nvme12n1": expected} == disks.parse(line)
