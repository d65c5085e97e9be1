"""A real agent, as its unit would start it, in a folder of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Long enough for two slow cores that also run other tests.
PATIENCE_S = 40.0


def until(true: Callable[[], Any], what: str) -> Any:
    """Return what *true* returns when it is true; a test that waits for ever says for what."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if got := true():
            return got
        time.sleep(0.05)
    raise AssertionError(f"not in {PATIENCE_S:g} s: {what}")


class Agent:
    """The process, the socket on which it notifies, and its log."""

    def __init__(self, folder: Path, settings: str, program: tuple[str, ...]) -> None:
        self.program = program
        self.folder = folder
        self.socket = str(folder / "agent.sock")
        self.config = folder / "gpudiag.toml"
        self.config.write_text(settings)
        self.systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.systemd.bind(str(folder / "notify"))
        self.systemd.settimeout(1.0)
        self.errors = (folder / "log").open("w")
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-I", *self.program, "agent", "--config", str(self.config)]
        argv += ["--state", str(self.folder / "state"), "--socket", self.socket]
        notify = {"NOTIFY_SOCKET": str(self.folder / "notify")}
        return subprocess.Popen(argv, stderr=self.errors, env={**os.environ, **notify})

    def again(self) -> None:
        """Start it anew."""
        self.process = self._start()

    def told(self, word: str) -> str:
        """Return the next notification that holds *word*."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                if word in (said := self.systemd.recv(4096).decode()):
                    return said
            except TimeoutError:
                if self.process.poll() is not None or time.monotonic() > end:
                    log = (self.folder / "log").read_text()[-2000:]
                    raise AssertionError(f"it never said {word}; its log:\n{log}") from None

    def ask(self, **question: Any) -> dict[str, Any]:
        """Return the answer to one question."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.connect(self.socket)
            asking.sendall(json.dumps(question).encode() + b"\n")
            answer: dict[str, Any] = json.loads(asking.makefile("rb").readline())
        return answer

    def log(self) -> list[dict[str, Any]]:
        """Return the lines of its log."""
        lines = (self.folder / "log").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def children(self, of: int | None = None) -> list[int]:
        """Return its helpers, and what forks them."""
        parent = of or self.process.pid
        # One that was started by a thread of it counts as that thread's.
        tasks = Path(f"/proc/{parent}/task").glob("*/children")
        pids = [int(pid) for task in tasks for pid in task.read_text().split()]
        return [*pids, *(below for pid in pids for below in self.children(pid))]

    def end(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Signal it; return its exit status and how long it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S), time.monotonic() - began

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        self.systemd.close()
        self.errors.close()


@contextmanager
def agent(
    folder: Path,
    settings: str = '[agent]\nmetrics = ""\n',
    program: tuple[str, ...] = ("-m", "agent"),
) -> Iterator[Agent]:
    """Run an agent for as long as the block; *program* is what Python is given to run."""
    one = Agent(folder, settings, program)
    try:
        yield one
    finally:
        one.close()
