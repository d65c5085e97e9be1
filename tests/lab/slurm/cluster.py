"""Start and end a cluster of real Slurm daemons, and run real clients against it."""

import os
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, CompletedProcess, Popen, TimeoutExpired, run
from typing import Self

HERE = Path(__file__).parent
PROGRAM = HERE.parents[2] / "deploy" / "slurm" / "gpudiag-prolog"
NODES = ("gpu01", "gpu02", "gpu03")
EVENTS = ("prolog", "epilog", "health")
PATIENCE_S = 40.0
# What a node's programs run in the place of /opt/gpudiag/bin/gpudiag: each node has its own agent.
GPUDIAG = """#!/bin/sh
echo "$SLURMD_NODENAME $2" >>{folder}/asked
export GPUDIAG_SOCKET={folder}/$SLURMD_NODENAME/agent.sock
exec {python} -I -m agent "$@" 2>>{folder}/said.$2
"""
# All that goes down of a node is its slurmd; `Cluster.boot` starts it again.
DOWN = "read -r _ _ _ slurmd _ </proc/$PPID/stat\nkill -9 $slurmd\n"


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until *holds*, or fail and say what did not come."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come within {PATIENCE_S:g} s")
        time.sleep(0.05)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody has."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def end_all_of(folder: Path) -> None:
    """End what outlived its daemons: slurmd leaves the steps of jobs to their slurmstepd."""
    mark, own = os.fsencode(folder), os.getpid()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            named = (place / "environ").read_bytes() + (place / "cmdline").read_bytes()
            if mark in named and int(place.name) != own:
                os.kill(int(place.name), signal.SIGKILL)


class Cluster:
    """One slurmctld and three slurmd, with the project's programs as their hooks.

    Used as a context: all that it started is ended when the context is left.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack = ExitStack()
        self._nodes: dict[str, Popen[bytes]] = {}
        self._environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> Self:
        for name in ("bin", "munge", "state", *NODES, *(f"spool/{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True)
        self._write_settings()
        self.install()
        with self._stack as stack:
            self._start_munge()
            self._start("slurmctld", "-D", "-c")
            for node in NODES:
                self._nodes[node] = self._start("slurmd", "-D", "-N", node, name=node)
            until("three idle nodes", lambda: set(self.states().values()) == {"idle"})
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        end_all_of(self.folder)

    def _write_settings(self) -> None:
        host = socket.gethostname().partition(".")[0]
        controller, *ports = free_ports(1 + len(NODES))
        # Slurm fills the lightest node first.
        nodes = "\n".join(
            f"NodeName={node} NodeAddr=127.0.0.1 NodeHostname={host} Port={port} CPUs=8 "
            f"RealMemory=1000 Weight={1 if node == 'gpu02' else 2} State=UNKNOWN"
            for node, port in zip(NODES, ports, strict=True)
        )
        words = {"@DIR@": str(self.folder), "@HOST@": host, "@PORT@": str(controller)}
        text = (HERE / "slurm.conf").read_text()
        for word, value in {**words, "@NODES@": nodes}.items():
            text = text.replace(word, value)
        (self.folder / "slurm.conf").write_text(text)
        shutil.copy(HERE / "cgroup.conf", self.folder)

    def install(self, gpudiag: str = GPUDIAG) -> None:
        """Put the hooks' programs in place, and beside them *gpudiag* as what they call."""
        text = PROGRAM.read_text().replace("/opt/gpudiag/bin", str(self.folder / "bin"))
        called = gpudiag.format(folder=self.folder, python=sys.executable)
        programs = {
            "gpudiag": called,
            "reboot": f"#!/bin/sh\n{DOWN}",
            **{f"gpudiag-{e}": text for e in EVENTS},
        }
        for name, body in programs.items():
            new = self.folder / "bin" / f"{name}.new"
            new.write_text(body)
            new.chmod(0o755)
            new.replace(self.folder / "bin" / name)

    @contextmanager
    def installed(self, gpudiag: str) -> Iterator[None]:
        """Have the hooks call another program meanwhile."""
        self.install(gpudiag)
        try:
            yield
        finally:
            self.install()

    def returns(self, to_service: int) -> None:
        """Let nodes that are down return as ReturnToService says."""
        path = self.folder / "slurm.conf"
        text = re.sub(r"ReturnToService=\d", f"ReturnToService={to_service}", path.read_text())
        path.write_text(text)
        self.client("scontrol", "reconfigure")

    def is_down(self, node: str) -> bool:
        """Return whether the node's slurmd has gone down with it."""
        return self._nodes[node].poll() is not None

    def boot(self, node: str) -> None:
        """Start the slurmd of a node that went down, as after a boot, until slurmctld has heard it.

        One that registers later finds the node in use again, and it is down as one that rebooted
        unexpectedly.
        """
        before = self._slurmd_since(node)
        self._nodes[node] = self._start("slurmd", "-D", "-b", "-N", node, name=f"{node}-booted")
        until("its registration", lambda: self._slurmd_since(node) != before)
        # unexpectedly rebooted boot_time=1796132341 last response=1796132340: in whole seconds
        # a boot may seem later than the word of it, until the node is heard after both.
        time.sleep(2.0)

    def _slurmd_since(self, node: str) -> list[str]:
        """Return when the slurmd that slurmctld heard last says that it started."""
        told = self.client("scontrol", "show", "node", node).stdout
        return re.findall(r"SlurmdStartTime=\S+", told)

    def client(self, *argv: str, timeout: float = PATIENCE_S) -> CompletedProcess[str]:
        """Run a client; its error output is its output."""
        return run(
            argv,
            env=self._environment,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            text=True,
            check=False,
            timeout=timeout,
        )

    def states(self) -> dict[str, str]:
        """Return each node's state as `sinfo` prints it: idle, drained, allocated."""
        lines = self.client("sinfo", "-h", "-N", "-o", "%N %T").stdout.splitlines()
        return dict(line.split(None, 1) for line in lines if line.count(" ") == 1)

    def reason(self, node: str) -> str:
        """Return why a node is out of service, "none" where it is not."""
        return self.client("sinfo", "-h", "-n", node, "-o", "%100E").stdout.strip()

    def queue(self) -> list[str]:
        """Return state and reason of each job that has not ended."""
        return self.client("squeue", "-h", "-o", "%T %r").stdout.splitlines()

    def jobs(self, *nodes: str) -> None:
        """Wait until the jobs on these nodes ended, their epilogs too."""
        busy = ("allocated", "mixed", "completing", "draining")
        until("the end of all jobs", lambda: not any(self.states()[n] in busy for n in nodes))

    def clear(self) -> None:
        """Let go of all jobs, have all nodes in service, and forget what was asked and said."""
        self.client("scancel", "--user=root")
        self.jobs(*NODES)
        for node, state in self.states().items():
            if state != "idle":
                self.client("scontrol", "update", f"nodename={node}", "state=resume")
        until("three idle nodes", lambda: set(self.states().values()) == {"idle"})
        for name in ("asked", *(f"said.{event}" for event in EVENTS)):
            (self.folder / name).write_text("")

    def asked(self) -> set[str]:
        """Return which node's hooks asked for which event since the last clear()."""
        return set((self.folder / "asked").read_text().splitlines())

    def said(self, event: str) -> str:
        """Return what an event's hooks said on their error output since the last clear()."""
        return (self.folder / f"said.{event}").read_text(errors="replace")

    def log(self, name: str) -> str:
        """Return what a daemon wrote so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _start_munge(self) -> None:
        place = self.folder / "munge"
        place.chmod(0o711)
        (place / "key").write_bytes(os.urandom(128))
        (place / "key").chmod(0o600)
        options = {"socket": "socket", "key-file": "key", "pid-file": "pid"}
        options |= {"log-file": "log", "seed-file": "seed"}
        argv = [f"--{option}={place / name}" for option, name in options.items()]
        # --force: the folder of a test lies below /tmp, where anyone may write.
        self._start("munged", "--foreground", "--force", *argv)
        until("munge", (place / "socket").exists)

    def _start(self, program: str, *argv: str, name: str | None = None) -> Popen[bytes]:
        path = shutil.which(program, path="/usr/sbin:/usr/bin")
        assert path is not None
        with (self.folder / f"{name or program}.log").open("w") as log:
            started = Popen(
                [path, *argv],
                stdin=DEVNULL,
                stdout=log,
                stderr=STDOUT,
                env=self._environment,
                cwd=self.folder,
            )
        self._stack.callback(end, started)
        return started


def end(started: Popen[bytes]) -> None:
    """End a daemon and wait for it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        started.send_signal(number)
        try:
            started.wait(timeout=5.0)
        except TimeoutExpired:
            continue
        return
