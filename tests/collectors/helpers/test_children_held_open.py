"""Files of processes that are kept open say what is, and leave nothing open of what was."""

import os
import subprocess
from pathlib import Path

import pytest

from collectors.helpers.children.held_open import HeldOpen


def sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["/bin/sleep", "60"])


def test_each_reading_is_of_now() -> None:
    """A process that was stopped since the last reading is told as stopped."""
    held = HeldOpen()
    with sleeper() as one:
        path = f"/proc/{one.pid}/stat"
        held.read(path, 4096)
        one.send_signal(19)
        os.waitid(os.P_PID, one.pid, os.WSTOPPED | os.WNOWAIT)
        state = held.read(path, 4096).rpartition(b") ")[2][:1]
        one.kill()
    held.keep(())

    assert b"T" == state


def test_one_that_has_ended_is_gone() -> None:
    """Nothing is told of a process that is no more, and its descriptor is closed."""
    held = HeldOpen()
    with sleeper() as one:
        path = f"/proc/{one.pid}/stat"
        held.read(path, 4096)
        one.kill()
    with pytest.raises(FileNotFoundError):
        held.read(path, 4096)

    assert 0 == len(held)


def test_what_has_no_room_is_read_all_the_same() -> None:
    """Descriptors are bounded; all files are read."""
    held = HeldOpen(most=1)
    paths = ("/proc/self/stat", f"/proc/{os.getppid()}/stat")
    texts = [held.read(path, 4096)[:1].isdigit() for path in paths]
    kept = len(held)
    held.keep(())

    assert ([True, True], 1) == (texts, kept)


def test_what_nobody_asks_for_is_closed() -> None:
    """Processes come and go: their files do not stay open."""
    held = HeldOpen()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("/proc/self/stat", "/proc/1/stat"):
        held.read(path, 4096)
    held.keep({"/proc/1/stat"})
    after = len(list(Path("/proc/self/fd").iterdir()))
    held.keep(())

    assert 1 == after - before
