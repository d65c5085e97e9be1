"""Slurm's own programs run our hooks: nothing of ours takes a node out, and a named fault does."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from subprocess import run

import pytest

from tests.e2e.agents import Agent, agent
from tests.lab.slurm.cluster import NODES, Cluster, until

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.tool("munged", "slurmctld", "slurmd", "scontrol", "sbatch"),
]

ROOT = Path(__file__).parents[3]
WELL, ILL = "h100-idle", "h100-gpu-lost"
POLICY = '[agent]\nmetrics = ""\nwalk_s = 10\n[hook]\ndrain = ["gpu_fell_off_bus"]\n'
NO_POLICY = POLICY.replace("gpu_fell_off_bus", "gpu_lost")
REASON = "gpudiag: gpu_fell_off_bus: the driver can no longer reach the GPU at 0000:5d:00.0"
# Four times as fast: a walk every 2.5 s, and one that takes 3 s is still fresh.
SPEED = "4"
ALL_IDLE = dict.fromkeys(NODES, "idle")
ALL_ASKED = {f"{node} {event}" for node in NODES for event in ("prolog", "epilog")}

Trouble = Callable[[Cluster], Iterator[None]]


def emptied(folder: Path) -> None:
    for left in ("hold", "notify", "agent.sock"):
        (folder / left).unlink(missing_ok=True)


@contextmanager
def agents(
    cluster: Cluster, recording: str, *nodes: str, settings: str = POLICY
) -> Iterator[list[Agent]]:
    """Run a real agent for each of *nodes*, that sees what is recorded; each has walked."""
    with ExitStack() as stack:
        running = []
        for node in nodes or NODES:
            folder = cluster.folder / node
            stack.callback(emptied, folder)
            words = (node, SPEED, str(folder), str(ROOT / "tests" / "nodes" / recording))
            program = (str(ROOT / "tests" / "e2e" / "replaying.py"), *words)
            running.append(stack.enter_context(agent(folder, settings, program)))
        for one in running:
            one.told("WATCHDOG=1")
        yield running


def absent(_: Cluster) -> Iterator[None]:
    yield


def stopped(cluster: Cluster) -> Iterator[None]:
    with agents(cluster, ILL) as running:
        for one in running:
            one.end(signal.SIGTERM)
        yield


def killed(cluster: Cluster) -> Iterator[None]:
    with agents(cluster, ILL) as running:
        for one in running:
            one.end(signal.SIGKILL)
        yield


def frozen(cluster: Cluster) -> Iterator[None]:
    with agents(cluster, ILL) as running:
        for one in running:
            os.kill(one.process.pid, signal.SIGSTOP)
        yield


def stale(cluster: Cluster) -> Iterator[None]:
    with agents(cluster, ILL) as running:
        for one in running:
            (one.folder / "hold").touch()
        yield


def troubled(one: Agent) -> bool:
    return "No space left" in str(one.ask(ask="status")["ok"]["agent"]["problems"])


def full_disk(cluster: Cluster) -> Iterator[None]:
    states = [cluster.folder / node / "state" for node in NODES]
    for state in states:
        state.mkdir(exist_ok=True)
        run(["mount", "-t", "tmpfs", "-o", "size=64k", "gpudiag-test", state], check=True)
    try:
        with agents(cluster, WELL) as running:
            for state in states:
                run(["dd", "if=/dev/zero", f"of={state}/others"], check=False, capture_output=True)
            for one in running:
                until("a full disk", partial(troubled, one))
            yield
    finally:
        for state in states:
            run(["umount", state], check=True)


def instead(gpudiag: str) -> Trouble:
    def trouble(cluster: Cluster) -> Iterator[None]:
        with cluster.installed(gpudiag):
            yield

    return trouble


def not_there(cluster: Cluster) -> Iterator[None]:
    (cluster.folder / "bin" / "gpudiag").unlink()
    yield


HALF = '#!/bin/sh\necho "$SLURMD_NODENAME $2" >>{folder}/asked\n'
TRACE = HALF + "exec {python} -I -c 'import gpudiag_half_installed' 2>>{folder}/said.$2\n"
FAULT = HALF + "ulimit -c 0; kill -SEGV $$\n"
HANG = HALF + "exec sleep 60\n"


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        pytest.param(absent, "no agent runs on this node", id="absent"),
        pytest.param(stopped, "no agent runs on this node", id="stopped"),
        pytest.param(killed, "the agent on this node was killed", id="killed, socket refuses"),
        pytest.param(frozen, "no answer in 1 s", id="frozen"),
        pytest.param(stale, "no walk of the last 60 s", id="stale"),
        pytest.param(full_disk, "", id="disk full"),
        pytest.param(instead(TRACE), "ModuleNotFoundError", id="upgrade half done"),
        pytest.param(instead(FAULT), "", id="the hook crashes"),
        pytest.param(instead(HANG), "", id="the hook hangs"),
    ],
)
def test_no_trouble_of_ours_takes_a_node_out(cluster: Cluster, trouble: Trouble, said: str) -> None:
    """The job runs on all three nodes, none of them leaves, and none of its hooks was left out."""
    with contextmanager(trouble)(cluster):
        ran = cluster.client("srun", "-N3", "-n3", "true")
        cluster.jobs(*NODES)
        got = (ran.returncode, cluster.states(), cluster.queue())

    assert (0, ALL_IDLE, [], set(), True) == (
        *got,
        ALL_ASKED - cluster.asked(),
        said in cluster.said("prolog"),
    )


def test_without_gpudiag_jobs_go_on(cluster: Cluster) -> None:
    """In the middle of an upgrade there is no program at all: the job runs, no node leaves."""
    with contextmanager(not_there)(cluster):
        ran = cluster.client("srun", "-N3", "-n3", "true")
        cluster.jobs(*NODES)

    assert (0, ALL_IDLE, []) == (ran.returncode, cluster.states(), cluster.queue())


def test_a_fault_that_no_policy_names_takes_no_node_out(cluster: Cluster) -> None:
    """Critical, known and fresh is not enough: people say for what a node goes out."""
    with agents(cluster, ILL, settings=NO_POLICY):
        ran = cluster.client("srun", "-N3", "-n3", "true")
        cluster.jobs(*NODES)

    assert (0, ALL_IDLE, [], ALL_ASKED, "") == (
        ran.returncode,
        cluster.states(),
        cluster.queue(),
        {event for event in cluster.asked() if not event.endswith("health")},
        cluster.said("prolog") + cluster.said("epilog"),
    )


def test_a_named_fault_takes_its_node_out_before_the_job(cluster: Cluster) -> None:
    """The node drains with our reason; its job is not held, and the other nodes take jobs."""
    with agents(cluster, ILL, "gpu02"):
        cluster.client("sbatch", "-N1", "--output=/dev/null", "--wrap=true")
        until("a drained node", lambda: cluster.states()["gpu02"] == "drained")
        others = cluster.client("srun", "-N2", "-n2", "sh", "-c", "echo $SLURMD_NODENAME")
        cluster.jobs("gpu01", "gpu03")

    assert (True, {**ALL_IDLE, "gpu02": "drained"}, ["gpu01", "gpu03"], ["PENDING BeginTime"]) == (
        cluster.reason("gpu02").startswith(REASON),
        cluster.states(),
        sorted(others.stdout.split()),
        cluster.queue(),
    )


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        pytest.param(None, REASON, id="in service"),
        pytest.param("a fan is to be changed", "a fan is to be changed", id="drained by a person"),
    ],
)
def test_a_named_fault_takes_its_node_out_after_the_job(
    cluster: Cluster, before: str | None, reason: str
) -> None:
    """The fault came while the job ran: the node leaves behind it; a person's reason stays."""
    cluster.client("sbatch", "-N1", "-w", "gpu02", "--output=/dev/null", "--wrap=sleep 600")
    until("a job", lambda: cluster.queue() == ["RUNNING None"])
    if before is not None:
        words = ("state=drain", f"reason={before}")
        cluster.client("scontrol", "update", "nodename=gpu02", *words)
    with agents(cluster, ILL, "gpu02"):
        cluster.client("scancel", "--user=root")
        until("a drained node", lambda: cluster.states()["gpu02"] == "drained")

    assert (True, {**ALL_IDLE, "gpu02": "drained"}, [], True) == (
        cluster.reason("gpu02").startswith(reason),
        cluster.states(),
        cluster.queue(),
        "epilog takes the node out: gpu_fell_off_bus" in cluster.said("epilog"),
    )


def test_the_health_program_always_ends_well(cluster: Cluster) -> None:
    """Slurm runs it on each node, beside a named fault too, and has nothing to say of it."""
    with agents(cluster, ILL, "gpu02"):
        cluster.clear()
        wanted = {f"{node} health" for node in NODES}
        until("each node's health program", lambda: wanted <= cluster.asked())
        until("its answers", lambda: cluster.said("health").count("not asked: no agent runs") >= 2)
    failed = [node for node in NODES if "health_check failed" in cluster.log(node)]

    assert (ALL_IDLE, []) == (cluster.states(), failed)
