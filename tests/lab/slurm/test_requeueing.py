"""Real Slurm requeues a job that lost its ranks on a node that drains for us, and no other."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.jobs import lost_steps
from collectors.jobs.lost_steps import LostSteps
from collectors.jobs.node_reason import parse
from collectors.jobs.running import JobProcess, JobsOnNode, Source
from collectors.node.live import Live
from remediations.actor import controller, requeue
from remediations.actor.registry import Refused, Turn
from remediations.policy import Policy
from tests.lab.slurm.cluster import Cluster, until

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.timeout(240),
    pytest.mark.tool("munged", "slurmctld", "slurmd", "scontrol", "sbatch"),
]
NODE = "gpu02"
OURS = "gpudiag: gpu_fell_off_bus gpu 0000:5d:00.0 incident 5e1f"
# The rank on the second node ends when the file is there; that on the first waits for it for ever.
JOB = """#!/bin/sh
srun -K0 -N2 -n2 sh -c 'if [ $SLURM_NODEID = 1 ]; then
  while [ ! -e {folder}/killed ]; do sleep 0.1; done; exit 1; fi; sleep 600'
sleep 600
"""
# A job's name is its user's to choose.
FORGED = "x Requeue=1 BatchFlag=1 JobState=RUNNING"
Submit = Callable[..., str]


@pytest.fixture
def submit(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submit:
    """Return what submits a job of two nodes, and waits until its rank on NODE is there."""
    monkeypatch.setenv("SLURM_CONF", str(cluster.folder / "slurm.conf"))
    monkeypatch.setenv("SLURMD_NODENAME", NODE)
    monkeypatch.setattr(controller, "JITTER_S", 0.0)
    monkeypatch.setattr(requeue, "LEAST_S", 1)
    monkeypatch.setattr(requeue, "AGAIN_S", 0.2)
    script = tmp_path / "job.sh"
    script.write_text(JOB.format(folder=tmp_path))

    def begin(*words: str, lost: bool = True, drained: str = OURS) -> str:
        argv = ("-N2", "-w", f"gpu01,{NODE}", "-J", FORGED, "--output=/dev/null", str(script))
        number = cluster.client("sbatch", "--parsable", *words, *argv).stdout.strip()
        until("the ranks", lambda: any(job == number for _, job, _ in controller.processes()))
        until("its second", lambda: controller.steps().get(number, {}).get("0", 0) >= 1)
        if lost:
            (tmp_path / "killed").touch()
            until("the loss", lambda: not controller.processes())
        if drained:
            words = (f"nodename={NODE}", "state=drain", f"reason={drained}")
            cluster.client("scontrol", "update", *words)
        return number

    return begin


def asked(number: str, folder: Path) -> str:
    turn = Turn("a1", "slurm.requeue", "gpu 1", Policy(), folder, 0, 60.0)
    try:
        return requeue.slurm_requeue(turn, number)
    except Refused as no:
        return str(no.detail)


def test_a_dead_job_is_requeued(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """It waits in the queue, without the node that drains for us."""
    number = submit("--requeue")
    before = requeue.slurm_requeued(tmp_path, number)
    said = asked(number, tmp_path)
    until("its end", lambda: "PENDING BeginTime" in cluster.queue())
    assert (False, f"job {number} requeued", True, "drained") == (
        before,
        said,
        requeue.slurm_requeued(tmp_path, number),
        cluster.states()[NODE],
    )


def test_not_one_that_may_not_be(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """Requeue=0, whatever else it calls itself."""
    number = submit("--no-requeue")
    said = asked(number, tmp_path)
    assert (f"job {number} may not be requeued: Requeue=0", ["RUNNING None"]) == (
        said,
        cluster.queue(),
    )


def test_not_one_that_lives(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """A process of it is on the node: perhaps it writes its checkpoint."""
    number = submit("--requeue", lost=False)
    said = asked(number, tmp_path)
    assert (f"job {number} has process", ["RUNNING None"]) == (
        said.partition(" process")[0] + " process",
        cluster.queue(),
    )


@pytest.mark.parametrize("reason", ["", "new fans"])
def test_not_without_a_drain_of_ours(
    submit: Submit, cluster: Cluster, tmp_path: Path, reason: str
) -> None:
    """It would come back to the node, or a person is at work."""
    number = submit("--requeue", drained=reason)
    said = asked(number, tmp_path)
    assert ("it may come back to this node: no drain of ours stands here", ["RUNNING None"]) == (
        said,
        cluster.queue(),
    )


def test_not_one_that_has_just_begun(
    submit: Submit, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tasks may not be there yet: an image is pulled, a prolog runs."""
    number = submit("--requeue")
    monkeypatch.setattr(requeue, "LEAST_S", 300)
    said = asked(number, tmp_path)
    assert (f"no step of job {number} has run here for 300 s", ["RUNNING None"]) == (
        said,
        cluster.queue(),
    )


@pytest.mark.parametrize("number", ["99", "1;reboot", "-1", "ALL", ""])
def test_not_what_is_no_job(submit: Submit, tmp_path: Path, number: str) -> None:
    """A word that is no number is put on no command line, and nobody has heard of job 99."""
    submit("--requeue")
    expected = f"{number!r} is no number of a job"
    if number == "99":
        expected = "job 99 is unknown to the controller, not RUNNING"
    assert expected == asked(number, tmp_path)


def test_what_the_agent_sees(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """Before its ranks are gone nothing is lost; afterwards the one job that may be requeued."""
    number = submit("--requeue", lost=False)
    before = seen(cluster, tmp_path)
    (tmp_path / "killed").touch()
    until("the loss", lambda: not controller.processes())
    after = seen(cluster, tmp_path)
    assert ([], [(number, "0", True)]) == (before, after)


def seen(cluster: Cluster, folder: Path) -> list[tuple[str, str, bool]]:
    """Return what is lost by the agent's own eyes; it gives no environment of its own to a tool."""
    squeue = folder / "squeue"
    conf = cluster.folder / "slurm.conf"
    squeue.write_text(f'#!/bin/sh\nSLURM_CONF={conf} exec /usr/bin/squeue "$@"\n')
    squeue.chmod(0o755)
    shown = cluster.client("scontrol", "show", "node", NODE).stdout
    rows = controller.processes()
    here = tuple(JobProcess(pid=pid, job=job, step=step) for pid, job, step in rows)
    jobs = JobsOnNode(sources=(Source(name="slurm", processes=here),))

    async def look() -> LostSteps | Missing:
        node = Live(tools={"squeue": str(squeue)})
        try:
            return await lost_steps.collect(node, Wanted(), parse(NODE, shown), jobs)
        finally:
            await node.close()

    got = asyncio.run(look())
    assert isinstance(got, LostSteps), got
    return [(one.job, one.step, one.requeue) for one in got.steps]
