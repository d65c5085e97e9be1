"""A real actor as a process of its own, on a socket and a state directory of the test's."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, Popen, run
from typing import Any

from remediations.act.hand import ActorHand, Done, Objection
from remediations.actor.clock import boot_id

# Slurm's drain in act: what needs no GPU. `[mode]` is the last table.
POLICY = """users = []
allow_unproved = [{unproved}]
[mode]
{modes}
"""
# Verbs of the tests, which write into the folder `NODE` and know how to hang.
TESTED = "tests.remediations.verbs"


def policy(path: Path, *acting: str, mode: str = "act") -> Path:
    """Write a policy that has *acting* in act, proved or not."""
    names = ", ".join(f'"{name}"' for name in acting)
    modes = "\n".join(f'"{name}" = "{mode}"' for name in acting)
    path.write_text(POLICY.format(unproved=names, modes=modes))
    path.chmod(0o644)
    return path


# Controllers and servers of other tests run on this machine; the actor's node has none of them.
APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


class Started:
    """One actor; started again on the same state after it was killed."""

    def __init__(
        self,
        folder: Path,
        *acting: str,
        env: Mapping[str, str] | None = None,
        within: Sequence[str] = APART,
    ) -> None:
        self._within = within
        self.folder = folder
        self.state = folder / "actor"
        self.node = folder / "node"
        self.node.mkdir(exist_ok=True)
        self.policy = policy(folder / "acting.toml", *acting)
        self.socket = folder / "actor.sock"
        self.hand = ActorHand(str(self.socket))
        self._env = {**os.environ, "NODE": str(self.node), **(env or {})}
        self.process: Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens: its socket is bound before the first line."""
        self.socket.unlink(missing_ok=True)
        argv = ["--socket", self.socket, "--policy", self.policy, "--state", self.state]
        self.process = Popen(
            [*self._within, sys.executable, "-m", TESTED, *map(str, argv)],
            env=self._env,
            start_new_session=True,
            stdout=PIPE,
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def ask(self, verb: str, **args: Any) -> Done | Objection:
        """Ask it by the product's own client."""
        return asyncio.run(self.hand.ask(verb, args))

    def journal(self) -> list[str]:
        """Return the lines of its journal."""
        path = self.state / "journal.jsonl"
        return path.read_text().splitlines() if path.exists() else []

    def done(self) -> list[str]:
        """Return what the verbs of the tests did."""
        path = self.node / "done"
        return path.read_text().splitlines() if path.exists() else []

    def age(self, hours: float) -> None:
        """Let all that it remembers have been so long ago."""
        lines = [json.loads(line) for line in self.journal()]
        for line in lines:
            for key in {"at", "up"} & line.keys():
                line[key] -= hours * 3600
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.state / "journal.jsonl").write_text(text)

    def python(self, code: str) -> str:
        """Return what a program of Python's prints."""
        argv = [sys.executable, "-I", "-c", code]
        return run(argv, capture_output=True, text=True, check=True, timeout=20).stdout

    def stop(self) -> None:
        """Stop it as systemd does."""
        assert self.process is not None
        assert self.process.stdout is not None
        pid = self.process.pid
        inside = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(inside[0]) if self._within else pid, signal.SIGTERM)
        self.process.wait(timeout=20)
        self.process.stdout.close()
        self.process = None

    def kill(self) -> None:
        """Kill it and all that it started, as a power cut would."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None
            self._gone()

    def _gone(self) -> None:
        """Wait until nobody listens: what is in a namespace of its own ends a bit later."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with socket.socket(socket.AF_UNIX) as knock:
                if knock.connect_ex(str(self.socket)) != 0:
                    return
            time.sleep(0.01)
        raise TimeoutError(f"{self.socket} still listens")


def wanted(remedy: str, **other: Any) -> dict[str, Any]:
    """Return the arguments of `begin` for *remedy*."""
    return {
        "key": f"{remedy}|gpu-001|gpu_lost|gpu 1",
        "remedy": remedy,
        "subject": "gpu 1",
        "serial": "1650000000001",
        "fault": "gpu_lost",
        "signature": "gpu_lost",
        "boot_id": boot_id(),
        "lease": "lease-1",
        "deadline_s": 60,
        "plan": "{}",
        **other,
    }
