"""Only regular files that a job writes as its output are read, as its user and nobody else."""

import os
import pty
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from collectors.helpers.children import as_user, job_logs, processes
from collectors.helpers.children.loop import Refused

Start = Callable[..., subprocess.Popen[bytes]]
NOBODY = 65_534


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes that wait, with the given output, and end them."""
    running: list[subprocess.Popen[bytes]] = []

    def started(output: IO[bytes] | int, **more: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            ["sleep", "600"], stdin=subprocess.DEVNULL, stdout=output, stderr=output, **more
        )
        running.append(process)
        return process

    yield started
    for process in running:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def read(entry: dict[str, Any], start: int = -1) -> dict[str, Any]:
    """Read a log that was listed."""
    return job_logs.job_log(entry["pid"], entry["stream"], entry["device"], entry["inode"], start)


def test_the_output_of_a_process_is_found_and_read(tmp_path: Path, start: Start) -> None:
    """Streams 1 and 2 into one file are one log, with its size and last growth."""
    log = tmp_path / "train.log"
    with log.open("ab") as output:
        process = start(output)
    log.write_bytes(b"step: 1\nstep: 2\n")
    (entry,) = job_logs.job_logs([process.pid])
    told = (entry["pid"], entry["stream"], entry["path"], entry["size"])
    assert (process.pid, 1, str(log), 16, "step: 1\nstep: 2\n") == (*told, read(entry)["text"])


def test_a_log_is_read_from_a_mebibyte_before_its_end_and_then_on(
    tmp_path: Path, start: Start
) -> None:
    """The first piece begins after a line end; the next one where the last ended."""
    log = tmp_path / "train.log"
    with log.open("ab") as output:
        process = start(output)
    lines = [f"step: {number:>9}\n" for number in range(100_000)]
    log.write_text("".join(lines))
    (entry,) = job_logs.job_logs([process.pid])
    first = read(entry)
    with log.open("a") as more:
        more.write("step: more\n")
    second = read(entry, first["next"])
    whole = "".join(lines)
    assert (whole[first["start"] :], "step:", "step: more\n") == (
        first["text"],
        first["text"][:5],
        second["text"],
    )
    assert len(whole) - first["start"] <= job_logs.TAIL


def test_a_log_that_became_shorter_is_read_from_its_end(tmp_path: Path, start: Start) -> None:
    """Where to go on is past its end by then: it begins anew."""
    log = tmp_path / "train.log"
    with log.open("ab") as output:
        process = start(output)
    log.write_text("anew\n")
    (entry,) = job_logs.job_logs([process.pid])
    again = read(entry, 5000)
    assert (0, "anew\n") == (again["start"], again["text"])


def test_pipes_sockets_terminals_and_what_is_only_read_are_no_logs(
    tmp_path: Path, start: Start
) -> None:
    """None of them is opened, not even for a moment: a FIFO has no reader afterwards."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "input").write_text("data\n")
    end = os.open(fifo, os.O_RDWR)
    one, other = socket.socketpair()
    main, terminal = pty.openpty()
    with (tmp_path / "input").open("rb") as only_read:
        pids = [
            start(output).pid
            for output in (end, subprocess.PIPE, one.fileno(), terminal, only_read)
        ]
    pids.append(start(subprocess.DEVNULL).pid)
    found = job_logs.job_logs(pids)
    for handle in (end, main, terminal):
        os.close(handle)
    one.close()
    other.close()
    assert [] == found


def test_another_file_in_its_place_is_not_read(tmp_path: Path, start: Start) -> None:
    """What was listed is what is read: device and number of the file must be the same."""
    log = tmp_path / "train.log"
    with log.open("ab") as output:
        process = start(output)
    (entry,) = job_logs.job_logs([process.pid])
    with pytest.raises(Refused, match="another file by now"):
        read({**entry, "inode": entry["inode"] + 1})


@pytest.mark.root
def test_a_process_with_another_root_is_left_alone(tmp_path: Path) -> None:
    """In a container a path means another file: its log is not reached from here."""
    log = tmp_path / "train.log"
    root = tmp_path / "root"
    root.mkdir()
    with log.open("ab") as output:
        inside = subprocess.Popen(
            [sys.executable, "-c", f"import os,time; os.chroot({str(root)!r}); time.sleep(600)"],
            stdout=output,
        )
    theirs = Path(f"/proc/{inside.pid}/root")
    until = time.monotonic() + 20
    while theirs.readlink() == Path("/") and time.monotonic() < until:
        time.sleep(0.05)
    found = job_logs.job_logs([inside.pid])
    inside.kill()
    inside.wait()
    assert [] == found


@pytest.mark.root
def test_a_file_that_the_user_may_not_read_is_not_read_for_him(
    tmp_path: Path, start: Start
) -> None:
    """Root handed the user an open secret to write to; reading it back is not his right."""
    secret = tmp_path / "secret"
    with secret.open("ab") as output:
        secret.chmod(0o600)
        process = start(output, user=NOBODY, group=NOBODY, extra_groups=[])
    secret.write_text("of root\n")
    (entry,) = job_logs.job_logs([process.pid])
    with pytest.raises(PermissionError):
        read(entry)


@pytest.mark.root
def test_rights_come_back_after_they_were_taken(tmp_path: Path) -> None:
    """Whatever happens meanwhile, what follows is done with our own rights again."""
    own = tmp_path / "own"
    own.write_text("of root\n")
    own.chmod(0o600)
    with pytest.raises(PermissionError), as_user.rights_of(as_user.User(NOBODY, NOBODY, ())):
        own.read_text()
    assert "of root\n" == own.read_text()


@pytest.mark.root
def test_reading_leaves_no_trace_in_the_time_of_access(tmp_path: Path, start: Start) -> None:
    """The time at which a job's log was read last stays as it was."""
    log = tmp_path / "train.log"
    with log.open("ab") as output:
        process = start(output)
    log.write_text("step: 1\n")
    os.utime(log, (1_000_000_000, 1_000_000_000))
    (entry,) = job_logs.job_logs([process.pid])
    read(entry)
    assert 1_000_000_000 == log.stat().st_atime


@pytest.mark.parametrize(("pid", "stream"), [(0, 1), (-1, 1), (1 << 30, 1), (1, 0), (1, 3)])
def test_only_pids_and_two_streams_are_taken(pid: int, stream: int) -> None:
    """The caller is not trusted with more than numbers, nor with other descriptors."""
    with pytest.raises(Refused):
        job_logs.job_log(pid, stream, 1, 1, -1)


def test_dumps_of_this_run_are_summed_up_and_refused_ones_are_told(tmp_path: Path) -> None:
    """The file is where the environment says; one older than the process is not its own."""
    environ = {"RANK": "4", "TORCH_FR_DUMP_TEMP_FILE": str(tmp_path / "trace_")}
    old = tmp_path / "trace_4"
    old.write_bytes(b"\x80\x02cos\nsystem\n.")
    os.utime(old, (1_000_000_000, 1_000_000_000))
    rank = subprocess.Popen(["sleep", "600"], env={**os.environ, **environ})
    while "RANK" not in processes.environ([rank.pid])[str(rank.pid)]:
        # The kernel lays it down while the program is being started.
        time.sleep(0.01)
    stale = job_logs.dumps([rank.pid])
    os.utime(old)
    told = job_logs.dumps([rank.pid])
    rank.kill()
    rank.wait()
    refused = told[str(rank.pid)]["refused"]
    assert ({}, True) == (
        stale,
        refused.startswith("the pickle was refused, nothing of it was run"),
    )
