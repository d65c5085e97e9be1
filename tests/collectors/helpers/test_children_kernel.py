"""The verb that reads the kernel's ring."""

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.helpers.children import kernel
from collectors.helpers.children.loop import Refused


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
    expected = {"lines": ["6,1,10,-;one", " SUBSYSTEM=pci", "6,2,20,-;two"], "lost": 0}

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
    """EPIPE says that records were overwritten, not that the log has ended."""
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

    assert {"lines": ["6,1,10,-;one", "6,9,90,-;nine"], "lost": 1} == got


def test_a_container_without_the_device_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No /dev/kmsg is no empty log."""
    monkeypatch.setattr(kernel, "KMSG", str(tmp_path / "kmsg"))
    with pytest.raises(Refused, match="not shown to this container") as no:
        kernel.kernel_log()

    assert no.value.cause == "denied"


@pytest.mark.root
def test_a_plain_user_is_refused_by_the_kernel() -> None:
    """The real ring behind dmesg_restrict: an error, never a short log."""
    if Path("/proc/sys/kernel/dmesg_restrict").read_text("utf-8").strip() != "1":
        pytest.skip("kernel.dmesg_restrict is off here: everybody may read the log")
    os.seteuid(65534)
    try:
        with pytest.raises(PermissionError) as no:
            kernel.kernel_log()
    finally:
        os.seteuid(0)

    assert no.value.filename == "/dev/kmsg"
