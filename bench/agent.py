"""What the agent costs at its defaults: `python -m bench.agent --minutes 10`.

A real daemon with eight simulated GPUs, among 500 processes of jobs; beside it node_exporter where
it is installed, asked every 10 s, and the floor: processes that only import what the daemon and its
helpers import. It reports to an aggregator of its own, whose cost is not counted; not so with
`--alone`. Memory is PSS: a page that several share counts for each by its part. Processor
time is the median of windows of a minute. What the simulated driver itself takes, where a real one
is a library of C, is measured apart and told beside it.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.processes import Cost, cost, family
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read

GPUS, PROCESSES, JOBS, SCRAPE_S = 8, 500, 4, 10.0
WINDOW_S = 60.0
AIM_MIB, MOST_MIB, MOST_CORE = 60.0, 75.0, 0.3
EXPORTER, PORT = "prometheus-node-exporter", 29_838
CGROUPS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
# The agent as its unit starts it, but for the driver's helper, which gets a simulated library.
AGENT = """
import sys
from collectors.gpu import asking
from collectors.node import live
plan, real = sys.argv.pop(1), live.child_argv
live.child_argv = lambda name: real(name) + (("--scenario", plan) if name == "nvml" else ())
asking.DRIVER = "/proc/version"
from agent.cli.main import main
sys.argv[0] = "gpudiag"
main()
"""
# The same modules in the same number of processes, and nothing done with them.
FLOOR = """
import importlib, os, sys
# As the daemon does: structlog imports it wherever it is.
sys.modules["rich"] = None
for name in sys.argv[2].split(","):
    importlib.import_module(name)
for number in range(int(sys.argv[1])):
    if os.fork() == 0:
        # The last one is the driver's.
        for name in sys.argv[3].split(",") if number + 1 == int(sys.argv[1]) else ():
            importlib.import_module(name)
        break
sys.stdout.write("x")
sys.stdout.flush()
sys.stdin.read()
"""
# The driver's questions of one minute, answered over and over; prints the simulator's part of them.
SHARE = """
import json, sys, time
from collectors.gpu.simulator import library
from collectors.helpers.children import nvml
from collectors.helpers.children.nvml_watch import Watch
real, spent = library.Simulator.answer, [0]
def timed(*given):
    began = time.thread_time_ns()
    try:
        return real(*given)
    finally:
        spent[0] += time.thread_time_ns() - began
library.Simulator.answer = timed
library.install(json.load(open(sys.argv[1])))
session = nvml.Session(Watch(lambda line: None))
for number in range(60):
    if number == 20:
        spent[0], began = 0, time.thread_time_ns()
    for brief in (True, False):
        session.nvml()
        session.nvml_health(brief=brief)
print(spent[0] / (time.thread_time_ns() - began))
"""
DAEMON = "agent.daemon.service,agent.walk.sources,agent.cli.main,structlog"
REPORTING = "agent.daemon.reporting"
FORKS = "collectors.helpers.children.forks"
NVML_COMM = "gpudiag-nvml"
NVML = "collectors.helpers.children.nvml,collectors.gpu.simulator.library"


@contextlib.contextmanager
def jobs(count: int) -> Iterator[str]:
    """Run *count* sleepers as steps of Slurm's jobs; says whether cgroups name the jobs, too."""
    root = next((Path(p) for p in CGROUPS if Path(p, "cgroup.procs").exists()), None)
    made: list[Path] = []
    sleepers = []
    try:
        for number in range(count):
            job = f"{88_100 + number % JOBS}"
            environment = {"SLURM_JOB_ID": job, "SLURM_PROCID": str(number)}
            sleepers.append(subprocess.Popen(["/bin/sleep", "infinity"], env=environment))
        with contextlib.suppress(OSError):
            for number, one in enumerate(sleepers if root else ()):
                made += joined(root, f"job_{88_100 + number % JOBS}", one.pid) if root else []
        yield "in cgroups of jobs" if made else "without cgroups of their own"
    finally:
        for one in sleepers:
            one.kill()
        for one in sleepers:
            one.wait()
        for path in sorted(set(made), reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir()


def joined(root: Path, job: str, pid: int) -> list[Path]:
    """Put a process into its job's cgroup; returns the folders that were made for it."""
    path = root / "system.slice" / "slurmstepd.scope" / job / "step_0" / "user" / "task_0"
    made = [folder for folder in (path, *path.parents[:5]) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    (path / "cgroup.procs").write_text(str(pid))
    return made


@contextlib.contextmanager
def aggregator(folder: Path) -> Iterator[str]:
    """Serve one; says the settings of an agent that enrols there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{probe.getsockname()[1]}"
    ours = [sys.executable, "-I", "-m", "aggregator"]
    (folder / "aggregator.toml").write_text(f'listen = "{url}"\ndata = "{folder}/data"\n')
    argv = [*ours, "serve", "--config", str(folder / "aggregator.toml")]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        process.stderr.readline()
        token = [*ours, "token", "create", "--role", "join", "--data", str(folder / "data")]
        (folder / "join").write_bytes(subprocess.run(token, check=True, capture_output=True).stdout)
        yield f'[report]\naggregator = "http://{url}"\njoin_token = "{folder}/join"\n'
    finally:
        process.terminate()
        process.communicate(timeout=20.0)


@contextlib.contextmanager
def agent(folder: Path, settings: str) -> Iterator[int]:
    """Run the agent; the other settings are the defaults, but for the folder and the port."""
    scenario = read(f'model = "h100-sxm"\ncount = {GPUS}\n', "bench")
    (folder / "plan").write_text(json.dumps(plan(scenario)))
    (folder / "agent.toml").write_text(settings)
    argv = [sys.executable, "-I", "-c", AGENT, str(folder / "plan"), "agent"]
    argv += ["--state", str(folder / "state"), "--socket", str(folder / "agent.sock")]
    argv += ["--config", str(folder / "agent.toml")]
    with (folder / "agent.log").open("w") as log:
        process = subprocess.Popen(argv, stderr=log)
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(10.0)


@contextlib.contextmanager
def exporter() -> Iterator[int | None]:
    """Run node_exporter where it is installed."""
    if (program := shutil.which(EXPORTER)) is None:
        yield None
        return
    argv = [program, f"--web.listen-address=127.0.0.1:{PORT}"]
    process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(10.0)


def scrape() -> None:
    """Ask node_exporter once, as Prometheus would."""
    with contextlib.suppress(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=5).read()


def floor(forked: int, daemon: str) -> Cost:
    """Return what the same processes cost that only import."""
    started = []
    try:
        for imports, forks in ((daemon, 0), (FORKS, forked)):
            argv = [sys.executable, "-I", "-c", FLOOR, str(forks), imports, NVML]
            pipe = subprocess.PIPE
            one = subprocess.Popen(argv, stdin=pipe, stdout=pipe, start_new_session=True)
            started.append(one)
            assert one.stdout is not None
            one.stdout.read(1 + forks)
        return cost(pid for one in started for pid in family(one.pid))
    finally:
        for one in started:
            os.killpg(one.pid, signal.SIGKILL)
            one.communicate()


def answer(path: Path) -> dict[str, Any]:
    """Return what the agent says of itself."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.connect(str(path))
        asking.sendall(b'{"ask": "status"}\n')
        reply: dict[str, Any] = json.loads(asking.makefile("rb").readline())["ok"]
    return reply


def over(value: float, most: float) -> str:
    """Return a mark for what is over its target."""
    return f"OVER {most:g}" if value > most else f"of {most:g}"


def line(name: str, found: Cost, core: float | None = None) -> None:
    """Print one row."""
    share = "" if core is None else f"{core:>10.2f}"
    print(f"{name:<34}{found.rss_mib:>10.1f}{found.pss_mib:>10.1f}{share}", flush=True)


def named(pid: int) -> str:
    """Return what a process of the agent is: `agent`, `forks`, or the driver's helper."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    module = next((word for word in words if word.startswith("collectors.")), "agent")
    comm = Path(f"/proc/{pid}/comm").read_text().strip()
    return comm if comm == NVML_COMM else module.rpartition(".")[2]


class Watched:
    """Processor time of processes, window by window, in percent of a core."""

    def __init__(self, pid: int, other: int | None) -> None:
        self.whole: list[float] = []
        self.beside: list[float] = []
        self.parts: dict[int, list[float]] = {}
        self._pid = pid
        self._other = other

    def window(self, seconds: float) -> None:
        """Watch for so long; node_exporter is asked meanwhile."""
        began, at = self._used(), time.monotonic()
        while (left := at + seconds - time.monotonic()) > 0:
            if self._other:
                scrape()
            time.sleep(min(left, SCRAPE_S))
        used, passed = self._used(), time.monotonic() - at
        percent = {pid: (used[pid] - began.get(pid, 0.0)) / passed * 100 for pid in used}
        self.beside.append(percent.pop(self._other) if self._other else 0.0)
        # What a helper that ended had used is its parent's now: the sum holds, parts may not.
        self.whole.append(sum(percent.values()))
        for pid, value in percent.items():
            self.parts.setdefault(pid, []).append(value)

    def _used(self) -> dict[int, float]:
        pids = [*family(self._pid), *([self._other] if self._other else [])]
        return {pid: cost([pid]).cpu_s for pid in pids}

    def print(self) -> None:
        """Print each process that lives by itself."""
        for pid in family(self._pid):
            with contextlib.suppress(OSError):
                line(f"  {named(pid)} {pid}", cost([pid]), median(self.parts.get(pid, [0.0])))


def simulated(plan_file: Path) -> float:
    """Return the part of the driver's helper's time that is the simulated library's."""
    argv = [sys.executable, "-I", "-c", SHARE, str(plan_file)]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Measure for some minutes; the first one is the start's, and not counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes watched (10)")
    parser.add_argument("--alone", action="store_true", help="no aggregator hears it")
    parser.add_argument("--strict", action="store_true", help="status 1 where memory is over")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        how, other = stack.enter_context(jobs(PROCESSES)), stack.enter_context(exporter())
        settings = "" if given.alone else stack.enter_context(aggregator(folder))
        print(f"{GPUS} simulated GPUs, {PROCESSES} processes {how}, {given.minutes:g} minutes")
        with agent(folder, settings) as pid:
            time.sleep(min(60.0, given.minutes * 30))
            watched = Watched(pid, other)
            for _ in range(max(round(given.minutes * 60 / WINDOW_S), 1)):
                watched.window(min(WINDOW_S, given.minutes * 60))
            found, percent, pids = cost(family(pid)), median(watched.whole), family(pid)
            print(f"{'':<34}{'RSS MiB':>10}{'PSS MiB':>10}{'% core':>10}")
            line("agent and helpers", found, percent)
            watched.print()
            status = answer(folder / "agent.sock")
            driver = next((p for p in pids if named(p) == NVML_COMM), 0)
            part = simulated(folder / "plan") * median(watched.parts.get(driver, [0.0]))
        daemon = DAEMON if given.alone else f"{DAEMON},{REPORTING}"
        line("... only imported", floor(len(pids) - 2, daemon))
        if other:
            line(EXPORTER, cost([other]), median(watched.beside))
    windows = " ".join(f"{one:.2f}" for one in watched.whole)
    print(f"{len(watched.whole)} windows: {windows}; the simulated driver's part of it: {part:.2f}")
    print(f"PSS {over(found.pss_mib, AIM_MIB)} MiB; {over(percent - part, MOST_CORE)} % of a core")
    if status["diagnosis"] is None:
        sys.exit("bench: no walk was finished")
    if not given.alone and status["agent"]["report"]["acknowledged_s"] is None:
        sys.exit("bench: the aggregator took no report")
    if given.strict and found.pss_mib > MOST_MIB:
        sys.exit(f"bench: {found.pss_mib:.1f} MiB of PSS are over {MOST_MIB:g}")


if __name__ == "__main__":
    main()
