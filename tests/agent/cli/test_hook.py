"""`gpudiag hook` fails open: whatever is wrong with us, the job goes on, within a second."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.cli import hook

REASON = {"fault": "gpu_lost", "message": "the driver lost GPU 3"}
ILL = {"verdict": "fault", "age_s": 4.0, "drain": [REASON]}
WELL = {"verdict": "ok", "age_s": 4.0, "drain": []}


@contextmanager
def daemon(path: Path, serve: Callable[[socket.socket], None]) -> Iterator[None]:
    """Accept one caller at *path* and do with him what *serve* does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen(1)

        def accept() -> None:
            caller, _ = listening.accept()
            with caller:
                serve(caller)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield
        thread.join(10.0)


def answering(reply: object) -> Callable[[socket.socket], None]:
    def serve(caller: socket.socket) -> None:
        caller.recv(4096)
        caller.sendall(json.dumps(reply).encode() + b"\n")

    return serve


@pytest.fixture
def syslog(tmp_path: Path) -> Iterator[socket.socket]:
    """Listen where a system log would."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(tmp_path / "log"))
        log.settimeout(0)
        yield log


def lines(log: socket.socket) -> list[str]:
    held = []
    while True:
        try:
            held.append(log.recv(4096).decode())
        except BlockingIOError:
            return held


def asked(tmp_path: Path, *words: str) -> int:
    return hook.run(words, path=str(tmp_path / "sock"), syslog=str(tmp_path / "log"))


@pytest.mark.parametrize(
    ("event", "reply", "status"),
    [("prolog", ILL, 1), ("epilog", ILL, 1), ("health", ILL, 0), ("prolog", WELL, 0)],
)
def test_a_verdict_drains_by_prolog_and_epilog_alone(
    tmp_path: Path, syslog: socket.socket, event: str, reply: object, status: int
) -> None:
    """1 takes the node out and says why in the system log; health never does."""
    with daemon(tmp_path / "sock", answering({"ok": reply})):
        got = asked(tmp_path, event)
    told = lines(syslog)

    assert (status, status, bool(status)) == (
        got,
        len(told),
        any("takes the node out: gpu_lost: the driver lost GPU 3" in line for line in told),
    )


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"ok": {**ILL, "age_s": 61.0}}, "the last ended 61 s ago"),
        ({"ok": {**ILL, "age_s": None}}, "none was finished yet"),
        ({"refused": "no such question"}, "no such question"),
        ({"ok": {}}, "none was finished yet"),
        ({"ok": {**ILL, "drain": [{}]}}, "KeyError"),
        (["ok"], "the agent's answer is no answer"),
    ],
)
def test_what_is_stale_or_not_understood_drains_nothing(
    tmp_path: Path, syslog: socket.socket, reply: object, why: str
) -> None:
    """An agent of another version, or one whose walk stands still: 0, and one line that says it."""
    with daemon(tmp_path / "sock", answering(reply)):
        got = asked(tmp_path, "prolog")
    told = lines(syslog)

    assert (0, 1, True, True) == (
        got,
        len(told),
        why in told[0],
        told[0].endswith("the job goes on"),
    )


@pytest.mark.parametrize(
    ("serve", "why"),
    [
        pytest.param(lambda caller: caller.recv(4096), "hung up", id="hangs up"),
        pytest.param(lambda caller: caller.sendall(b"\x00\xff" * 99), "hung up", id="babbles"),
    ],
)
def test_a_broken_agent_drains_nothing(
    tmp_path: Path, syslog: socket.socket, serve: Callable[[socket.socket], None], why: str
) -> None:
    """An agent that dies in the middle of its answer: 0, and one line."""
    with daemon(tmp_path / "sock", serve):
        got = asked(tmp_path, "prolog")
    told = lines(syslog)

    # Which of the two notices first that the other has left is the kernel's affair.
    ways = (why, "reset", "broken pipe")
    assert (0, [True]) == (got, [any(way in line.lower() for way in ways) for line in told])


def test_an_agent_that_hangs_is_waited_for_a_second(tmp_path: Path, syslog: socket.socket) -> None:
    """A frozen agent's socket still takes callers; after 1 s the hook goes on without it."""
    over = threading.Event()

    def frozen(caller: socket.socket) -> None:
        del caller
        over.wait(20.0)

    with daemon(tmp_path / "sock", frozen):
        began = time.monotonic()
        got = asked(tmp_path, "prolog")
        took = time.monotonic() - began
        over.set()

    assert (0, True, [True]) == (
        got,
        0.9 < took < 3.0,
        ["no answer in 1 s" in line for line in lines(syslog)],
    )


def test_an_absent_agent_and_a_dead_one_drain_nothing(
    tmp_path: Path, syslog: socket.socket
) -> None:
    """No socket, and a socket that nobody listens at: each 0 and one line."""
    absent = asked(tmp_path, "prolog")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(tmp_path / "sock"))
        refused = asked(tmp_path, "epilog")
    told = lines(syslog)

    assert (0, 0, True, True, 2) == (
        absent,
        refused,
        "no agent runs on this node" in told[0],
        "was killed" in told[1],
        len(told),
    )


@pytest.mark.parametrize("words", [["prologue"], [], ["prolog", "epilog"], ["--now"], ["-x", "y"]])
def test_a_wrong_call_drains_nothing(tmp_path: Path, words: list[str]) -> None:
    """A slip in slurm.conf is said on every node, and takes none of them out."""
    argv = [sys.executable, "-I", "-m", "agent", "hook", *words]
    environment = {**os.environ, "GPUDIAG_SOCKET": str(tmp_path / "sock")}
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)

    assert (0, True) == (ran.returncode, "is none of health, prolog, epilog" in ran.stderr)


def test_no_system_log_is_no_trouble(tmp_path: Path) -> None:
    """Without /dev/log the line goes to standard error alone."""
    assert 0 == asked(tmp_path, "prolog")
