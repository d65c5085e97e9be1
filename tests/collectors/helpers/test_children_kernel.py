"""The verb that reads the kernel's ring: the device, the journal, the system call."""

import errno
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.helpers.children import kernel
from collectors.helpers.children.loop import Refused
from collectors.kernel.log import parse
from tests.collectors.helpers import journal


@pytest.fixture
def ring() -> Iterator[tuple[socket.socket, int]]:
    """A real descriptor that gives one record a read and then EAGAIN, as /dev/kmsg does."""
    writer, reader = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader.settimeout(0)
    with writer, reader:
        yield writer, reader.fileno()


def test_all_records_until_there_is_none(ring: tuple[socket.socket, int]) -> None:
    """Each line of a record stands for itself, the properties behind their space."""
    writer, handle = ring
    writer.send(b"6,1,10,-;one\n SUBSYSTEM=pci\n")
    writer.send(b"6,2,20,-;two\n")
    expected = {
        "lines": ["6,1,10,-;one", " SUBSYSTEM=pci", "6,2,20,-;two"],
        "lost": 0,
        "source": "kmsg",
        "last": 2,
    }

    assert expected == kernel.tail(handle)


@pytest.mark.parametrize(("limit", "most"), [("MOST_RECORDS", 2), ("MOST_BYTES", 30)])
def test_the_newest_records_are_kept(
    ring: tuple[socket.socket, int], monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """A huge ring costs no more than its caps."""
    writer, handle = ring
    for number in range(9):
        writer.send(b"6,%d,10,-;text\n" % number)
    monkeypatch.setattr(kernel, limit, most)
    expected = ["6,7,10,-;text", "6,8,10,-;text"]

    assert expected == kernel.tail(handle)["lines"]


def test_an_overrun_is_counted_and_reading_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """EPIPE says that records were overwritten; the numbers around the gap say how many."""
    script: Iterator[bytes | int] = iter([b"6,1,10,-;one\n", errno.EPIPE, b"6,9,90,-;nine\n"])

    def read(handle: int, size: int) -> bytes:
        del handle, size
        step = next(script, errno.EAGAIN)
        if isinstance(step, int):
            raise OSError(step, os.strerror(step))
        return step

    monkeypatch.setattr(os, "read", read)
    got = kernel.tail(0)
    monkeypatch.undo()

    assert (["6,1,10,-;one", "6,9,90,-;nine"], 7) == (got["lines"], got["lost"])


def test_a_cursor_leaves_out_what_is_known(ring: tuple[socket.socket, int]) -> None:
    """Records up to the cursor stay out; a first one that does not follow on it shows the loss."""
    writer, handle = ring
    for number in (4, 5, 9, 10):
        writer.send(b"6,%d,10,-;text\n" % number)
    got = kernel.tail(handle, after=5)

    assert (["6,9,10,-;text", "6,10,10,-;text"], 3) == (got["lines"], got["lost"])


def test_without_any_source_the_device_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No /dev/kmsg is no empty log; what is told is the best source, not the last."""
    monkeypatch.setattr(kernel, "KMSG", str(tmp_path / "kmsg"))
    monkeypatch.setattr(kernel, "JOURNALCTL", ())
    monkeypatch.setattr(kernel, "READ_ALL", 99)
    monkeypatch.setattr(kernel, "SIZE_BUFFER", 99)
    with pytest.raises(Refused, match="not shown to this container") as no:
        kernel.kernel_log()

    assert no.value.cause == "denied"


@pytest.mark.root
def test_a_plain_user_is_refused_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real ring behind dmesg_restrict: an error, never a short log."""
    if Path("/proc/sys/kernel/dmesg_restrict").read_text("utf-8").strip() != "1":
        pytest.skip("kernel.dmesg_restrict is off here: everybody may read the log")
    monkeypatch.setattr(kernel, "JOURNALCTL", ())
    os.seteuid(65534)
    try:
        with pytest.raises(Refused, match="/dev/kmsg: Operation not permitted"):
            kernel.kernel_log()
        with pytest.raises(Refused) as no:
            kernel.ring_by_syslog(-1)
    finally:
        os.seteuid(0)

    assert ("denied", "syslog(2): Operation not permitted") == (no.value.cause, str(no.value))


@pytest.mark.root
@pytest.mark.serial
def test_syslog_tells_what_the_device_tells() -> None:
    """The same ring by syslog(2): the same texts with level and facility, at the same time."""
    device, call = (
        {
            (r.level, r.facility, r.boot_s, r.text)
            for r in list(parse(kernel.kernel_log()["lines"]))[-50:]
        },
        {
            (r.level, r.facility, r.boot_s, r.text)
            for r in parse(kernel.ring_by_syslog(-1)["lines"])
        },
    )

    assert set() == {record for record in device if r"\x0a" not in record[3]} - call


@pytest.mark.tool("journalctl", journal.REMOTE)
def test_the_journal_tells_of_this_boot_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the device, the real journalctl: kernel entries of this boot, by their writer."""
    now, kept = kernel.boot_id(), {**journal.KERNEL}
    written = {**kept, "SYSLOG_FACILITY": "1", "MESSAGE": "a program's line"}
    entries: list[journal.Entry] = [
        (journal.BEFORE, 1.0, {**kept, "MESSAGE": "of the boot before"}),
        (now, 10.0, {**kept, "MESSAGE": "one", "_SOURCE_MONOTONIC_TIMESTAMP": "2500000"}),
        (now, 11.0, {"_TRANSPORT": "journal", "MESSAGE": "of a service", "PRIORITY": "6"}),
        (now, 12.0, {**kept, "MESSAGE": "back\\slash, café"}),
        (now, 13.0, written),
    ]
    journal.keep(tmp_path, monkeypatch, entries)
    monkeypatch.setattr(kernel, "KMSG", str(tmp_path / "kmsg"))
    got = kernel.kernel_log()
    expected = [
        (0, 4, 2.5, "one"),
        (0, 4, 4.0, "back\\slash, café"),
        (1, 4, 5.0, "a program's line"),
    ]

    assert "journald" == got["source"]
    assert expected == [(r.facility, r.level, r.boot_s, r.text) for r in parse(got["lines"])]


def test_a_journal_that_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """journalctl on a broken disk can sit for ever; it is ended within its time."""
    slow = tmp_path / "journalctl"
    slow.write_text("#!/bin/sh\necho '{}'\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(kernel, "JOURNALCTL", (str(slow),))
    monkeypatch.setattr(kernel, "JOURNAL_S", 0.5)
    with pytest.raises(Refused, match=r"did not end in 0\.5 s") as no:
        kernel.journal(-1)

    assert "timeout" == no.value.cause


@given(st.binary(max_size=2000))
def test_no_journal_text_breaks_the_reader(text: bytes) -> None:
    """Whatever journalctl prints, entries of the right form come out, and nothing is raised."""
    assert all(us >= 0 and priority >= 0 for priority, us, _ in kernel.entries(text))


@given(st.text(max_size=300))
def test_any_text_is_read_back(text: str) -> None:
    """A message of the journal goes through the form of /dev/kmsg unchanged."""
    plain = "".join(c for c in text if c.isprintable()).strip()
    (line,) = kernel.numbered([(3, 7, plain)], -1)

    assert [plain.encode("utf-8", "replace").decode()] == [r.text for r in parse([line])]


@given(st.text(max_size=2000))
def test_no_printed_text_breaks_the_reader(text: str) -> None:
    """syslog(2) can give any bytes of any message."""
    lines = list(kernel.numbered(kernel.printed(text), -1))

    assert len(lines) == len(list(parse(lines)))


def test_what_syslog_prints() -> None:
    """With time, with the thread that wrote, and without both."""
    text = "<6>[    2.608284] one\n<14>[   12.000101][ T2214] two\n<4>three\nno prefix\n"
    expected = [(6, 2_608_284, "one"), (14, 12_000_101, "two"), (4, 0, "three")]

    assert expected == list(kernel.printed(text))


def test_reading_goes_on_where_it_ended(
    ring: tuple[socket.socket, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for what comes after its last answer, it reads the new records alone, piece by piece.

    The device is opened once; another number than the last one's has it opened anew.
    """
    writer, handle = ring
    opened = []

    def open_again() -> int:
        opened.append(os.dup(handle))
        return opened[-1]

    monkeypatch.setattr(kernel, "_opened", open_again)
    for number in (1, 2, 3):
        writer.send(b"6,%d,10,-;text\n" % number)
    answers = [kernel.kernel_log(most=2), kernel.kernel_log(after=2, most=2)]
    writer.send(b"6,7,10,-;text\n")
    answers.append(kernel.kernel_log(after=3, most=2))
    once = len(opened)
    answers.append(kernel.kernel_log(after=5))
    os.close(kernel._devices.popitem()[1])

    assert ([(2, 0, 2), (1, 0, 3), (1, 3, 7), (0, 0, 5)], 1, 2) == (
        [(len(got["lines"]), got["lost"], got["last"]) for got in answers],
        once,
        len(opened),
    )


@pytest.mark.tool("journalctl", journal.REMOTE)
def test_the_journal_is_read_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the device, the real journalctl is asked for what follows on its cursor alone."""
    now = kernel.boot_id()
    entries: list[journal.Entry] = [
        (now, 10.0 + n, {**journal.KERNEL, "MESSAGE": f"line {n}"}) for n in range(2)
    ]
    later = {**journal.KERNEL, "MESSAGE": "line 2", "__MONOTONIC_TIMESTAMP": "9000000"}
    journal.keep(tmp_path, monkeypatch, entries)
    monkeypatch.setattr(kernel, "KMSG", str(tmp_path / "kmsg"))
    first = kernel.kernel_log()
    again = kernel.kernel_log(after=first["last"])
    journal.keep(tmp_path, monkeypatch, [(now, 20.0, later)])
    then = kernel.kernel_log(after=again["last"])

    assert (["line 0", "line 1"], [], ["line 2"], True) == (
        *([r.text for r in parse(got["lines"])] for got in (first, again, then)),
        then["last"] > first["last"],
    )


def test_what_finds_no_room_after_a_cursor_is_lost(
    ring: tuple[socket.socket, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More new records than are kept: the newest are there, and the others are counted as lost."""
    writer, handle = ring
    for number in range(4, 13):
        writer.send(b"6,%d,10,-;text\n" % number)
    monkeypatch.setattr(kernel, "MOST_RECORDS", 2)
    got = kernel.tail(handle, after=3, most=2)

    assert (["6,11,10,-;text", "6,12,10,-;text"], 7) == (got["lines"], got["lost"])


def test_a_flood_of_records_costs_its_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100,000 records the newest 20,000 are handed on, and none counts as lost."""
    script = iter(range(100_000))

    def read(handle: int, size: int) -> bytes:
        del handle, size
        if (number := next(script, None)) is None:
            raise BlockingIOError
        return b"3,%d,%d,-;NVRM: Xid (PCI:0000:4e:00): 31, pid=8100\n" % (number, number)

    monkeypatch.setattr(os, "read", read)
    got = kernel.tail(0)
    monkeypatch.undo()

    assert (20_000, 0, "3,80000,80000") == (
        len(got["lines"]),
        got["lost"],
        got["lines"][0].partition(",-")[0],
    )


@pytest.mark.root
@pytest.mark.serial
def test_what_the_kernel_says_is_waited_for() -> None:
    """/dev/kmsg itself: nothing for a second, then at once the line that is written meanwhile."""
    last = kernel.kernel_log()["last"]
    began = time.monotonic()
    silent = kernel.kernel_log(last, wait_s=1)["lines"]
    waited = time.monotonic() - began
    line = "<6>gpudiag looks whether it hears the kernel\n"
    writer = threading.Timer(0.3, Path("/dev/kmsg").write_text, [line])
    writer.start()
    began = time.monotonic()
    told = kernel.kernel_log(last, wait_s=20)
    took = time.monotonic() - began
    writer.join()

    assert ([], True, [line[3:-1]], last + 1, True) == (
        silent,
        0.9 < waited,
        [one.partition(";")[2] for one in told["lines"]],
        told["last"],
        0.2 < took < 10.0,
    )
