"""NFS mounts between two samples of the client's statistics."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host import nfs
from collectors.host.nfs import Counted, NfsActivity, NfsMount
from collectors.node.live import Live
from collectors.node.recorded import Recorded
from tests.recording import recorded, write

PATH = nfs.VIEWS[0]
STATS = """\
device /dev/md0 mounted on / with fstype ext4
device store-1:/scratch mounted on /scr\\040a with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,timeo=600,retrans=2
\tage:\t86400
\tevents:\t31 4711 18 23 11 4 5023 96 0 2 0 6 9 0 22 1 0 2 0 0 0 0 0 0 0 0 0
\tbytes:\t805306368 402653184 0 0 805306368 402653184 196608 98304
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 875 1 1 0 12 {sent} {answered} 0 31022 0 2 104 98
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 1 1 0
\t        READ: {operations} {transmissions} {timeouts} 221536 {moved} 12 {rtt} 31020 0
\t       WRITE: 40 40 0 409600 6400 0 80 82 0

device proc mounted on /proc with fstype proc
"""
FIRST = STATS.format(
    sent=1245, answered=1245, operations=1204, transmissions=1204, timeouts=0, moved=8000, rtt=900
)
SECOND = STATS.format(
    sent=1300, answered=1296, operations=1252, transmissions=1254, timeouts=2, moved=9000, rtt=1860
)


def between(tmp_path: Path, second: str) -> NfsActivity | Missing:
    folder = write(tmp_path, files={PATH: FIRST})
    write(tmp_path / "at" / "1", files={PATH: second})
    return asyncio.run(nfs.collect(Recorded(folder), Wanted(sample_s=1.0)))


def test_between_two_samples(tmp_path: Path) -> None:
    """Operations of all kinds are added up; what was sent more often than it ended is counted."""
    mount = NfsMount(
        point="/scr a",
        source="store-1:/scratch",
        operations=48,
        resent=2,
        timeouts=2,
        bytes_per_s=1000.0,
        rtt_ms=20.0,
    )

    assert NfsActivity(seconds=1.0, mounts=(mount,)) == between(tmp_path, SECOND)


def test_a_server_that_is_silent(tmp_path: Path) -> None:
    """What was on its way at both samples, with no answer in between, is unanswered."""
    waiting = FIRST.replace(" 1245 1245 ", " 1249 1245 ")
    folder = write(tmp_path, files={PATH: waiting})
    seen = asyncio.run(nfs.collect(Recorded(folder), Wanted(sample_s=1.0)))

    assert isinstance(seen, NfsActivity)
    assert [(4, None)] == [(mount.unanswered, mount.rtt_ms) for mount in seen.mounts]


def test_a_mount_made_anew_is_left_out(tmp_path: Path) -> None:
    """Counters that went back are those of another mount."""
    anew = STATS.format(
        sent=2, answered=2, operations=1, transmissions=1, timeouts=0, moved=10, rtt=1
    )

    assert NfsActivity(seconds=1.0, mounts=()) == between(tmp_path, anew)


def test_without_a_mount_nobody_waits(tmp_path: Path) -> None:
    """A node without NFS costs no second."""
    folder = write(tmp_path, files={PATH: "device /dev/md0 mounted on / with fstype ext4\n"})
    node = Recorded(folder)

    assert NfsActivity(seconds=0.0, mounts=()) == asyncio.run(nfs.collect(node, Wanted()))


def test_no_statistics_is_missing(tmp_path: Path) -> None:
    """A node whose files lack is not a node without NFS."""
    assert isinstance(asyncio.run(nfs.collect(recorded(tmp_path), Wanted())), Missing)


async def test_this_machine() -> None:
    """A real kernel's table is understood."""
    node = Live()
    seen = await nfs.collect(node, Wanted(sample_s=0.1))
    await node.close()

    assert isinstance(seen, NfsActivity)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever stands there, reading it does not fail."""
    nfs.parse(text)


@given(st.lists(st.integers(0, 2**63 - 1), min_size=8, max_size=9))
def test_counters_come_back(counts: list[int]) -> None:
    """One operation's line gives its counts; kernels before 5.3 print no errors."""
    head = "device store-1:/scratch mounted on /scratch with fstype nfs statvers=1.1\n"
    expected = Counted(
        source="store-1:/scratch",
        operations=counts[0],
        transmissions=counts[1],
        timeouts=counts[2],
        moved_bytes=counts[3] + counts[4],
        rtt_ms=counts[6],
    )
    line = f"\t        READ: {' '.join(map(str, counts))}"

    assert {"/scratch": expected} == nfs.parse(head + line)
