"""The kernel log: raw lines, facility, continuation, escapes, and the times around it."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog, Record
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.kernel.log import collect, parse
from collectors.node.live import Live
from collectors.node.recorded import Recorded, RecordingError
from tests.recording import recorded, write

RAW = [
    "6,1042,5123456,-;nvidia 0000:4e:00.0: enabling device (0000 -> 0002)",
    " SUBSYSTEM=pci",
    " DEVICE=+pci:0000:4e:00.0",
    "4,1043,5123502,-,caller=T2214;first half, ",
    "4,1044,5123502,c,caller=T2214;second half",
    r"11,1045,5200000,-;a name: caf\xc3\xa9 C:\x5cjobs and\x0aan own line",
    "no record at all",
]


def record(sequence: int, boot_s: float, level: int, text: str, facility: int = 0) -> Record:
    return Record(sequence=sequence, boot_s=boot_s, level=level, facility=facility, text=text)


def test_raw_lines_become_records() -> None:
    """Properties are no text, a continuation joins its record, control bytes stay escaped."""
    expected = (
        record(1042, 5.123456, 6, "nvidia 0000:4e:00.0: enabling device (0000 -> 0002)"),
        record(1043, 5.123502, 4, "first half,second half"),
        record(1045, 5.2, 3, r"a name: café C:\jobs and\x0aan own line", facility=1),
    )

    assert expected == tuple(parse(RAW))


def test_a_continuation_of_another_writer_stays_apart() -> None:
    """What a program writes is never glued to what the kernel said."""
    raw = ["3,7,100,-;Out of memory: ", "11,8,101,c;Killed process 1 (init) total-vm:1kB"]
    expected = ["Out of memory:", "Killed process 1 (init) total-vm:1kB"]

    assert expected == [r.text for r in parse(raw)]


@given(st.lists(st.text(max_size=200)))
def test_no_text_breaks_the_parser(raw: list[str]) -> None:
    """Whatever stands in the ring, parsing ends with records or with none."""
    assert all(0 <= r.level <= 7 for r in parse(raw))


@given(
    st.integers(0, 255),
    st.integers(0, 2**63),
    st.integers(0, 10**15),
    st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="\\")),
)
def test_what_the_kernel_prints_is_read_back(
    priority: int, sequence: int, us: int, text: str
) -> None:
    """Header and printable text of a record survive unchanged."""
    expected = record(sequence, us / 1e6, priority % 8, text, facility=priority // 8)

    assert (expected,) == tuple(parse([f"{priority},{sequence},{us},-;{text}"]))


def test_a_recording_holds_the_log_as_kmsg_gives_it(tmp_path: Path) -> None:
    """kmsg.log answers, and the times of boot and reading come from /proc."""
    files = {"/proc/stat": "cpu 1 2 3\nbtime 1796000000\n", "/proc/uptime": "7200.25 1.00\n"}
    write(tmp_path / "r", files=files)
    (tmp_path / "r" / "kmsg.log").write_text("6,1,1000000,-;hello\n")
    node = Recorded(tmp_path / "r")
    expected = KernelLog(
        records=(record(1, 1.0, 6, "hello"),),
        boot_id="5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11",
        boot_time=1796000000.0,
        uptime_s=7200.25,
    )

    assert expected == asyncio.run(collect(node, Wanted()))


def test_a_later_state_goes_on_where_the_log_ended(tmp_path: Path) -> None:
    """A recording's log grows as its time passes."""
    write(tmp_path / "r")
    write(tmp_path / "r" / "at" / "30")
    (tmp_path / "r" / "kmsg.log").write_text("6,1,1000000,-;before\n")
    (tmp_path / "r" / "at" / "30" / "kmsg.log").write_text("6,2,31000000,-;after\n")
    node = Recorded(tmp_path / "r")
    first = asyncio.run(collect(node, Wanted()))
    asyncio.run(node.sleep(30))
    second = asyncio.run(collect(node, Wanted()))
    expected = [["before"], ["before", "after"]]

    assert isinstance(first, KernelLog)
    assert isinstance(second, KernelLog)
    assert expected == [[r.text for r in log.records] for log in (first, second)]


def test_the_form_of_dmesg_is_refused_with_its_line(tmp_path: Path) -> None:
    """Its lines have no number, level and facility, so nobody could tell who wrote them."""
    write(tmp_path / "r")
    (tmp_path / "r" / "kmsg.log").write_text("6,1,1000000,-;hello\n[  219.470994] NVRM: hello\n")

    with pytest.raises(RecordingError, match=r"kmsg\.log.*line 2.*/dev/kmsg"):
        Recorded(tmp_path / "r")


def test_without_the_reader_the_log_is_denied_with_its_verb(tmp_path: Path) -> None:
    """A plain user is told which verb would have answered."""
    denied = {"cause": "denied", "detail": "/dev/kmsg: Operation not permitted"}
    node = recorded(tmp_path, answers=[{"kind": "kernel_log", "missing": denied}])
    expected = Missing(
        what="KernelLog",
        cause=Cause.DENIED,
        detail="/dev/kmsg: Operation not permitted",
        verb="kernel_log",
    )

    assert expected == asyncio.run(collect(node, Wanted()))


def test_an_answer_of_another_shape_is_garbled(tmp_path: Path) -> None:
    """A reader of another version does not crash the walk."""
    node = recorded(tmp_path, answers=[{"kind": "kernel_log", "answer": {"records": []}}])
    got = asyncio.run(collect(node, Wanted()))

    assert isinstance(got, Missing)
    assert got.cause is Cause.GARBLED


def test_age_and_wall_clock_of_a_record() -> None:
    """Age counts from the reading, or from the last record where that is not known."""
    old, new = record(1, 100.0, 6, "old"), record(2, 400.0, 6, "new")
    known = KernelLog(records=(old, new), boot_time=1000.0, uptime_s=1100.0)
    unknown = KernelLog(records=(old, new))
    expected = (1000.0, 300.0, 1100.0, None, 1.0, None)

    assert expected == (
        known.age_s(old),
        unknown.age_s(old),
        known.wall(old),
        unknown.wall(old),
        known.wall_error_s(old),
        unknown.wall_error_s(old),
    )


@pytest.mark.root
@pytest.mark.serial
async def test_a_line_written_through_kmsg_is_seen_as_a_programs_word() -> None:
    """The real ring: a written line arrives with facility 1, which by_kernel() leaves out."""
    tag = f"gpudiag test of pid {os.getpid()} at {time.monotonic_ns()}"
    with open("/dev/kmsg", "wb", buffering=0) as ring:  # noqa: ASYNC230, PTH123 - a device, not a file
        ring.write(f"<6>{tag}\n".encode())
    node = Live()
    log = await collect(node, Wanted())
    await node.close()

    assert isinstance(log, KernelLog)
    assert [(1, 6)] == [(r.facility, r.level) for r in log.records if r.text == tag]
    assert [] == [r for r in log.by_kernel() if r.text == tag]
    assert log.wall(log.records[-1]) == pytest.approx(time.time(), abs=30)
