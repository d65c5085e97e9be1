"""Start and end a simulated fabric, and run real tools on its nodes."""

import itertools
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired, run
from typing import Self

HERE = Path(__file__).parent
TOOLS = (
    *("ibping", "ibstat", "perfquery", "sminfo", "smpquery", "ibnetdiscover"),
    "ibportstate",
)
# Names of the abstract sockets; several fabrics live beside one another on a machine.
NUMBERS = itertools.count(1)
PATIENCE_S = 20.0


def preload() -> str:
    """Return the library that turns a tool's umad calls into ibsim's datagrams."""
    return str(next(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so")))


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until *holds*, or fail and say what did not come."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come within {PATIENCE_S:g} s")
        time.sleep(0.01)


class Fabric:
    """A leaf switch with a manager and four nodes; ibsim has room for ten attached programs.

    Used as a context: all that it started is ended when the context is left.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = f"gpudiag{os.getpid()}n{next(NUMBERS)}"
        self.started: list[Popen[bytes]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._simulator = self._start(
            "ibsim", [self._path("ibsim"), "-s", str(HERE / "fabric.net")]
        )
        until("ibsim", lambda: "simulator ready" in self._said("ibsim"))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def manage(self, on: str = "manager") -> None:
        """Start the subnet manager on a host, and wait until every port is active."""
        self._manager = self._start("opensm", [self._path("opensm"), "-f", "stdout"], host=on)
        until("a subnet", lambda: "SUBNET UP" in self._said("opensm"))
        for host in ("gpu-017", "gpu-018", "gpu-019", "gpu-020"):
            self.wait(host, "Active")

    def unmanage(self) -> None:
        """End the subnet manager."""
        end(self._manager)

    def leave(self) -> None:
        """End the simulator itself: real tools then wait for it for ever."""
        end(self._simulator)

    def answer(self, *nodes: str) -> None:
        """Let nodes answer pings; `gpu-018:3` loses three of each ten."""
        argv = [sys.executable, str(HERE / "responder.py"), self.base, *nodes]
        name = f"responder-{'-'.join(nodes)}"
        self._start(name, argv)
        until("the responder", lambda: "ready" in self._said(name))

    def unlink(self, host: str) -> None:
        """Pull the cable of a node."""
        self._tell(f'Unlink "{host}"[1]')
        self.wait(host, "Down")

    def relink(self, host: str) -> None:
        """Put the cable of a node back, and wait for the subnet manager to take it in."""
        self._tell(f'ReLink "{host}"[1]')
        self.wait(host, "Active")

    def count(self, host: str, counter: str, value: int) -> None:
        """Set a counter of a node's port, by its name in `perfquery`, and wait until it shows."""
        self._tell(f'PerformanceSet "{host}"[1] PortCounters.{counter}={value}')
        until(f"{counter} {value}", lambda: self.counted(host, counter) == value)

    def counted(self, host: str, counter: str) -> int | None:
        """Return a counter of the node's port, as the real `perfquery` prints it."""
        said = self.tool(host, "perfquery")
        hit = re.search(rf"^{counter}:\.+(\d+)$", said, re.MULTILINE)
        return int(hit[1]) if hit else None

    def limit(self, host: str, what: str, value: int) -> None:
        """Let a node's link be no better: *what* is `width` or `espeed`, as `ibportstate` has them.

        ibsim takes the best that both ends allow when the second end is set, so that both are. A
        request that comes too late on slow cores is lost: both are asked until the link differs.
        """
        before = self.link(host)
        said = self.tool("manager", "ibnetdiscover")
        switch = re.search(r'"leaf" base port 0 lid (\d+)', said)
        port = re.search(rf'^\[(\d+)\].*# "{host}" lid', said, re.MULTILINE)
        assert switch is not None
        assert port is not None
        ends = ((str(self.lid(host)), "1"), (switch[1], port[1]))

        def limited() -> bool:
            for lid, number in ends:
                self.tool("manager", "ibportstate", lid, number, what, str(value))
            now = self.link(host)
            return all(now) and now != before

        until(f"{host} {what} {value}", limited)

    def link(self, host: str) -> tuple[str, str]:
        """Return width and speed of a lane that a node's port has now, as `ibportstate` reads."""
        said = self.tool("manager", "ibportstate", str(self.lid(host)), "1")
        hits = (
            re.search(rf"^Link{field}Active:\.+(.+)$", said, re.MULTILINE)
            for field in ("Width", "SpeedExt")
        )
        width, speed = (hit[1] if hit else "" for hit in hits)
        return width, speed

    def wait(self, host: str, state: str) -> None:
        """Wait until a node's port is in a state, as `ibstat` prints it."""
        until(f"{host} {state}", lambda: self.state(host) == state)

    def tool(self, host: str, name: str, *args: str) -> str:
        """Return what a real tool prints when it runs on a node."""
        ran = run([self.tools(host)[name], *args], stdout=PIPE, text=True, check=False, timeout=20)
        return ran.stdout

    def state(self, host: str) -> str:
        """Return the port's state as `ibstat` prints it: Down, Initializing, Active."""
        return self._stat(host, "State")

    def lid(self, host: str) -> int:
        """Return the LID that the subnet manager gave."""
        return int(self._stat(host, "Base lid"))

    def guid(self, host: str) -> str:
        """Return the port's GUID as 0x..."""
        return self._stat(host, "Port GUID")

    def tools(self, host: str) -> dict[str, str]:
        """Return a tool table whose programs run on a node."""
        folder = self.folder / "bin" / host
        folder.mkdir(parents=True, exist_ok=True)
        table = {name: folder / name for name in TOOLS}
        for name, path in table.items():
            if not path.exists():
                path.write_text(
                    f"#!/bin/sh\ncd {self.folder}\n"
                    f"export IBSIM_SOCKNAME={self.base} SIM_HOST={host} LD_PRELOAD={preload()}\n"
                    f'exec {self._path(name)} "$@"\n'
                )
                path.chmod(0o755)
        return {name: str(path) for name, path in table.items()}

    def tree(self, host: str) -> Path:
        """Return a root folder whose /sys/class/infiniband shows the node's port as it is now.

        Every attached program has such a tree while it runs; a ping once a second holds one. Its
        LID is nobody's: a ping to the manager's own port would end opensm under umad2sim 0.10.
        """
        argv = [self._path("ibping"), "-c", "60", "-t", "100", "-L", "49151"]
        held = self._start(f"tree-{host}", argv, host=host)
        theirs = self.folder / f"sys-{held.pid}"
        # This file is the last that is written.
        until("a sysfs tree", (theirs / "sys/class/infiniband_mad/umad0/ibdev").exists)
        ours = self.folder / f"root-{host}"
        shutil.copytree(theirs, ours)
        held.kill()
        return ours

    def _tell(self, line: str) -> None:
        assert self._simulator.stdin is not None
        self._simulator.stdin.write(f"{line}\n".encode())
        self._simulator.stdin.flush()

    def _stat(self, host: str, field: str) -> str:
        hit = re.search(rf"^\s*{field}: (.*)$", self.tool(host, "ibstat"), re.MULTILINE)
        return hit[1] if hit else ""

    @staticmethod
    def _path(name: str) -> str:
        path = shutil.which(name, path="/usr/sbin:/usr/bin")
        assert path is not None
        return path

    def _said(self, name: str) -> str:
        return (self.folder / f"{name}.out").read_text(errors="replace")

    def _start(self, name: str, argv: list[str], host: str | None = None) -> Popen[bytes]:
        environment = {"PATH": os.defpath, "IBSIM_SOCKNAME": self.base, "PYTHONUNBUFFERED": "1"}
        if host is not None:
            environment |= {"SIM_HOST": host, "LD_PRELOAD": preload()}
            environment |= {"OSM_CACHE_DIR": str(self.folder), "OSM_TMP_DIR": str(self.folder)}
        with (self.folder / f"{name}.out").open("wb") as out:
            started = Popen(
                argv, stdin=PIPE, stdout=out, stderr=STDOUT, cwd=self.folder, env=environment
            )
        self.started.append(started)
        self._stack.callback(end, started)
        return started


def end(started: Popen[bytes]) -> None:
    """End a program and wait for it."""
    if started.stdin is not None:
        started.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        started.send_signal(number)
        try:
            started.wait(timeout=2.0)
        except TimeoutExpired:
            continue
        return
