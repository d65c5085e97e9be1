"""`gpudiag run` beside a live agent: dear observations come from it, and never two ask at once."""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent.cli.beside import COSTLY, taken
from collectors.gpu.health import GpuHealth
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read
from tests.e2e.agents import agent

# The command as it is, but for the driver's helper, which has a simulated library.
SIMULATED = """
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


@pytest.fixture
def program(tmp_path: Path) -> tuple[str, ...]:
    """Return what Python is given to be gpudiag on a node with two simulated GPUs."""
    scenario = read('model = "h100-sxm"\ncount = 2\n', "a test")
    (tmp_path / "plan").write_text(json.dumps(plan(scenario)))
    (tmp_path / "locks").mkdir()
    return ("-c", SIMULATED, str(tmp_path / "plan"))


def run(program: tuple[str, ...], socket: str, *words: str) -> Any:
    argv = [sys.executable, "-I", *program, "run", "--json", "--socket", socket, *words]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False)
    assert ran.returncode in range(4), ran.stderr
    return json.loads(ran.stdout)


def aged(document: Any) -> dict[str, float]:
    lines = [check for stage in document["stages"] for check in stage["checks"]]
    return {line["check"]: line["age_s"] for line in lines if "age_s" in line}


@pytest.mark.serial
def test_what_is_dear_comes_from_the_agent_with_its_age(
    tmp_path: Path, program: tuple[str, ...]
) -> None:
    """The GPUs' health was asked once, by the agent; the check that judges it says how old it is.

    Without an agent the same run looks for itself, and no check has an age.
    """
    with agent(tmp_path, program=program) as one:
        one.told("WATCHDOG=1")
        seen = taken(one.socket)
        beside = run(program, one.socket)
        status = one.ask(ask="status")["ok"]
        one.end()
    alone = run(program, one.socket)
    names = {check["check"] for stage in alone["stages"] for check in stage["checks"]}

    assert (True, 2, True, True, {}, True, {"processes", "driver", "network", "training"}) == (
        set(seen) <= set(COSTLY),
        len(seen[GpuHealth][0].gpus),  # type: ignore[attr-defined]  # it is one
        0 <= aged(beside)["gpu.heat"] < 40,
        set(aged(beside)) < names,
        aged(alone),
        aged(beside).keys() >= {"gpu.heat", "gpu.memory_errors"},
        set(status["stages_s"]),
    )


@pytest.mark.serial
def test_the_driver_is_asked_in_turns(tmp_path: Path, program: tuple[str, ...]) -> None:
    """While somebody else holds the right to ask, neither agent nor run asks; then both do."""
    lock = (tmp_path / "locks" / "nvml").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    argv = [sys.executable, "-I", *program, "run", "--json", "--check", "gpu.heat"]
    argv += ["--socket", str(tmp_path / "agent.sock")]
    waiting = subprocess.Popen(argv, stdout=subprocess.PIPE)
    time.sleep(2.0)
    waits = waiting.poll() is None
    fcntl.flock(lock, fcntl.LOCK_UN)
    said, _ = waiting.communicate(timeout=60)
    lock.close()
    (check,) = (c for stage in json.loads(said)["stages"] for c in stage["checks"])

    assert (True, "ok", os.EX_OK) == (waits, check["verdict"], waiting.returncode)
