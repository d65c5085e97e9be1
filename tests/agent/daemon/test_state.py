"""What is remembered is there after a crash: whole, or as it was before."""

import os
import threading
import time
from pathlib import Path

import msgspec
import pytest

from agent.daemon import state
from agent.daemon.keeping import Keeping
from agent.daemon.state import State, Writer
from diagnostics.incidents.life import Life

KNOWN = State(
    sequence=41_206,
    boot_id="b00t",
    incidents={"91e8a2c4d5f60718": Life(first_seen=1_796_000_000.5, check="gpu.count")},
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Sequence, boot and the times of incidents come back as they were, for their owner alone."""
    state.write(tmp_path, msgspec.json.encode(KNOWN))
    mode = (tmp_path / "state.json").stat().st_mode & 0o777

    assert ((KNOWN, None), 0o600) == (state.read(tmp_path), mode)


@pytest.mark.parametrize("cut", [0, 1, 40])
def test_a_damaged_file_is_put_aside_and_said(tmp_path: Path, cut: int) -> None:
    """A torn or foreign file costs what was known, never the start; it is kept for a person."""
    torn = msgspec.json.encode(KNOWN)[:cut]
    (tmp_path / "state.json").write_bytes(torn)

    read, problem = state.read(tmp_path)

    assert (State(), True, torn) == (
        read,
        "put aside as state.damaged" in (problem or ""),
        (tmp_path / "state.damaged").read_bytes(),
    )


def test_a_crash_between_leaves_the_state_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the new file is whole and on disk the old one stays in its place."""
    state.write(tmp_path, msgspec.json.encode(KNOWN))

    def power_cut(handle: int) -> None:
        del handle
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", power_cut)
        with pytest.raises(KeyboardInterrupt):
            state.write(tmp_path, b"{}")

    assert (KNOWN, None) == state.read(tmp_path)


def test_a_disk_that_hangs_holds_up_nobody(tmp_path: Path) -> None:
    """put() returns at once, the newest state alone waits, and the end is not waited for long."""
    release, written = threading.Event(), []

    def hanging(folder: Path, data: bytes) -> None:
        del folder
        written.append(msgspec.json.decode(data, type=State).sequence)
        release.wait(20.0)

    writer = Writer(tmp_path, hanging)
    writer.put(State(sequence=1))
    deadline = time.monotonic() + 10.0
    while not written and time.monotonic() < deadline:
        release.wait(0.005)
    began = time.monotonic()
    for sequence in range(2, 500):
        writer.put(State(sequence=sequence))
    ended = writer.close(0.05)
    took = time.monotonic() - began
    release.set()
    writer.close(10.0)

    assert (False, True, [1, 499]) == (ended, took < 2.0, written)


def test_a_disk_that_refuses_is_a_problem_until_it_takes(tmp_path: Path) -> None:
    """ENOSPC is told in the disk's words; when it is over the problem is gone."""
    refusing = [True]

    def full(folder: Path, data: bytes) -> None:
        if refusing[0]:
            raise OSError(28, "No space left on device")
        state.write(folder, data)

    writer = Writer(tmp_path, full)
    writer.put(KNOWN)
    deadline = time.monotonic() + 10.0
    while writer.problem is None and time.monotonic() < deadline:
        threading.Event().wait(0.005)
    told = writer.problem
    refusing[0] = False
    writer.put(KNOWN)
    writer.close(10.0)

    assert (f"{tmp_path}/state.json: No space left on device", None, KNOWN) == (
        told,
        writer.problem,
        state.read(tmp_path)[0],
    )


@pytest.mark.parametrize(
    ("ended", "boot", "told"),
    [
        ("watchdog dumped ABRT", "b00t", "no walk was finished within WatchdogSec (watchdog dum"),
        ("oom-kill killed KILL", "b00t", "for want of memory"),
        (None, "b00t", "nothing says by whom"),
        ("watchdog dumped ABRT", "0ther", None),
    ],
)
def test_how_the_run_before_ended_is_told(
    tmp_path: Path, ended: str | None, boot: str, told: str | None
) -> None:
    """A killed run is told with systemd's cause; after a reboot there is nothing to tell."""
    state.write(tmp_path, msgspec.json.encode(State(boot_id="b00t", running=True)))
    if ended is not None:
        (tmp_path / "ended").write_text(ended + "\n")

    kept = Keeping(tmp_path)
    said = kept.begin(boot)
    kept.end()
    kept.close(10.0)
    again = Keeping(tmp_path)
    after = again.begin("b00t")
    again.close(10.0)

    assert (True, None) == ((told or "") in (said or "") and bool(told) == bool(said), after)


def test_what_a_person_knows_of_is_kept(tmp_path: Path) -> None:
    """Acknowledged before a restart is acknowledged after it; a name that nobody has is not."""
    state.write(tmp_path, msgspec.json.encode(KNOWN))
    kept = Keeping(tmp_path)
    told = (kept.acknowledge("91e8a2c4d5f60718"), kept.acknowledge("0000000000000000"))
    kept.close(10.0)
    again = state.read(tmp_path)[0].incidents["91e8a2c4d5f60718"]

    assert ("acknowledged", None, "acknowledged") == (
        told[0].state if told[0] else None,
        told[1],
        again.state,
    )
