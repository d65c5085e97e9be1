"""The agent as a process: it starts, walks, answers, reloads, and ends in time."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.agents import agent, until

QUIET = '[agent]\nmetrics = ""\n'


def gpudiag(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-m", "agent", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_it_is_ready_walks_and_ends_with_nothing_left(tmp_path: Path) -> None:
    """READY, a walk with WATCHDOG after it, an answer, STOPPING, status 0, no socket, no child."""
    with agent(tmp_path) as one:
        one.told("READY=1")
        walked = one.told("WATCHDOG=1")
        status = one.ask(ask="status")["ok"]
        shown = gpudiag("status", "--socket", one.socket)
        children = one.children()
        code, took = one.end()
        stopping = one.told("STOPPING=1")
    # What was killed with the agent is init's to reap, which takes its time on slow cores.
    until(lambda: not alive(children), "its children are gone")

    assert (True, 1, True, True, 0, True, "STOPPING=1", False, []) == (
        "walk 1 took" in walked,
        status["agent"]["walks"],
        status["diagnosis"]["verdict"] in walked,
        "as seen" in shown.stdout,
        code,
        took < 5.0,
        stopping,
        Path(one.socket).exists(),
        alive(children),
    )


@pytest.mark.serial
def test_it_ends_in_time_with_helpers_that_do_not(tmp_path: Path) -> None:
    """With every helper frozen, so that TERM does nothing to them, TERM ends the agent in 5 s."""
    with agent(tmp_path) as one:
        one.told("WATCHDOG=1")
        children = one.children()
        for pid in children:
            os.kill(pid, signal.SIGSTOP)
        code, took = one.end()
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    assert (True, 0, True) == (len(children) > 2, code, took < 5.0)


def test_a_reload_keeps_the_last_good_settings(tmp_path: Path) -> None:
    """HUP with a broken file: RELOADING, READY, the key in the log and status, the old hold."""
    with agent(tmp_path, QUIET + "walk_s = 40\n") as one:
        one.told("WATCHDOG=1")
        one.config.write_text(QUIET + "walk_s = 40\nwalks = 3\n")
        one.process.send_signal(signal.SIGHUP)
        reloading = one.told("RELOADING=1")
        one.told("READY=1")
        broken = one.ask(ask="status")["ok"]["agent"]
        one.config.write_text(QUIET + "walk_s = 50\n")
        one.process.send_signal(signal.SIGHUP)
        one.told("READY=1")
        mended = one.ask(ask="status")["ok"]["agent"]
        refused = [line for line in one.log() if line["event"] == "settings_refused"]

    problem = f"{tmp_path}/gpudiag.toml: agent.walks: unknown key"
    assert (True, 40.0, True, [problem], 50.0, []) == (
        re.search(r"MONOTONIC_USEC=\d+$", reloading) is not None,
        broken["walk_s"],
        problem in broken["problems"][0],
        [line["problem"] for line in refused],
        mended["walk_s"],
        mended["problems"],
    )


def test_what_was_known_outlives_kill_9(tmp_path: Path) -> None:
    """After kill -9 the next run counts on, replaces the socket, and says how the last ended."""
    with agent(tmp_path) as one:
        one.told("WATCHDOG=1")
        until(lambda: b'"sequence":1' in _state(tmp_path), "the first walk in the state")
        one.end(signal.SIGKILL)
        (tmp_path / "state" / "ended").write_text("watchdog dumped ABRT\n")
        one.again()
        walked = one.told("WATCHDOG=1")
        about = one.ask(ask="status")["ok"]["agent"]

    assert (True, 2, "systemd ended it: no walk was finished within WatchdogSec") == (
        "walk 2 took" in walked,
        about["walks"],
        about["ended_before"].partition(" (")[0],
    )


def _state(folder: Path) -> bytes:
    try:
        return (folder / "state" / "state.json").read_bytes()
    except FileNotFoundError:
        return b""


def test_prometheus_is_served_what_is_ready(tmp_path: Path) -> None:
    """GET /metrics is the text format: each family once, each line of a family after its TYPE."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with agent(tmp_path, f'[agent]\nmetrics = "127.0.0.1:{port}"\n') as one:
        one.told("WATCHDOG=1")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            kind, text = answer.headers["Content-Type"], answer.read().decode()
    types = re.findall(r"^# TYPE (\S+) (?:gauge|counter)$", text, re.MULTILINE)
    names = re.findall(r"^(gpudiag_\w+?)(?:\{[^}]*\})? \S+$", text, re.MULTILINE)

    assert ("text/plain; version=0.0.4; charset=utf-8", True, types, [], True) == (
        kind,
        text.endswith("\n"),
        list(dict.fromkeys(names)),
        [name for name in types if not name.startswith("gpudiag_")],
        'gpudiag_node_verdict{verdict="' in text,
    )


def test_a_release_reaches_the_driver_s_helpers(tmp_path: Path) -> None:
    """release-gpus says until when, status shows it, 0 ends it; an absent agent is one line."""
    with agent(tmp_path) as one:
        one.told("WATCHDOG=1")
        released = gpudiag("release-gpus", "--for", "10m", "--socket", one.socket)
        held = one.ask(ask="status")["ok"]["agent"]["released_until"]
        ended = gpudiag("release-gpus", "--for", "0", "--socket", one.socket)
        free = one.ask(ask="status")["ok"]["agent"]["released_until"]
    absent = gpudiag("release-gpus", "--socket", one.socket)

    assert (0, True, True, "the daemon asks the driver again\n", None, 64) == (
        released.returncode,
        released.stdout.startswith("the daemon keeps off the driver until"),
        held is not None,
        ended.stdout,
        free,
        absent.returncode,
    )


def test_status_without_an_agent_is_one_clear_line(tmp_path: Path) -> None:
    """Status 64, what is missing, and what to do."""
    path = tmp_path / "agent.sock"
    asked = gpudiag("status", "--socket", str(path))

    assert (
        64,
        (
            f"error: no agent runs on this node ({path})\n"
            " help: systemctl start gpudiag-agent starts it; gpudiag run looks once without it\n"
        ),
    ) == (asked.returncode, asked.stderr)
