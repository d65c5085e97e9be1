"""The real scontrol against a real slurmd: a cluster of one node, started for these tests."""

import asyncio
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host import held, processes
from collectors.jobs import maintenance, node_reason
from collectors.jobs.running import JobsOnNode, collect
from collectors.node.live import Live

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.tool("munged", "slurmctld", "slurmd", "scontrol", "sbatch"),
]

SETTINGS = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=1
NodeName=gpu017 NodeAddr=127.0.0.1 NodeHostname={host} Port={slurmd_port} CPUs=4 RealMemory=500
PartitionName=train Nodes=ALL Default=YES State=UP
"""
# Debian's slurmd reads this file even where no plugin needs it.
CGROUP = "CgroupPlugin=cgroup/v1\nConstrainCores=no\nConstrainDevices=no\nConstrainRAMSpace=no\n"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PATIENCE_S = 30.0


def eventually(true: Callable[[], bool], what: str) -> None:
    """Wait until *true*, for as long as a busy machine may need."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > end:
            pytest.fail(f"{what}: not within {PATIENCE_S:g} s")
        time.sleep(0.1)


class Cluster:
    """One controller and one node, gpu017."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf"), "HOME": "/"}
        self._daemons: list[subprocess.Popen[bytes]] = []
        for name in ("munge", "state", "spool"):
            (folder / name).mkdir()
        (folder / "munge").chmod(0o711)
        (folder / "munge" / "key").write_bytes(os.urandom(1024))
        (folder / "munge" / "key").chmod(0o600)
        host = socket.gethostname().partition(".")[0]
        ports = {"port": free_port(), "slurmd_port": free_port()}
        (folder / "slurm.conf").write_text(SETTINGS.format(host=host, folder=folder, **ports))
        (folder / "cgroup.conf").write_text(f"{CGROUP}CgroupMountpoint=/sys/fs/cgroup\n")
        # What the agent runs in place of scontrol: it gives no environment of its own to a tool.
        self.scontrol = folder / "scontrol"
        self.scontrol.write_text(
            f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec /usr/bin/scontrol "$@"\n'
        )
        self.scontrol.chmod(0o755)

    def start(self) -> None:
        munge = self.folder / "munge"
        files = (f"--socket={munge}/socket", f"--key-file={munge}/key", f"--seed-file={munge}/seed")
        logs = (f"--pid-file={munge}/pid", f"--log-file={munge}/log")
        self._daemon("munged", "--force", "--foreground", *files, *logs)
        eventually((munge / "socket").exists, "munged")
        self._daemon("slurmctld", "-D", "-c")
        self.slurmd = self._daemon("slurmd", "-D", "-N", "gpu017")
        eventually(lambda: self.run("sinfo", "-h", "-o", "%T").strip() == "idle", "an idle node")

    def _daemon(self, *argv: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{argv[0]}.out").open("wb")
        daemon = subprocess.Popen(argv, env=self.environ, stdout=log, stderr=log)
        log.close()
        self._daemons.append(daemon)
        return daemon

    def run(self, *argv: str) -> str:
        done = subprocess.run(
            argv, env=self.environ, capture_output=True, text=True, check=False, cwd=self.folder
        )
        return done.stdout

    def submit(self) -> str:
        """Start a job that sleeps, and return its id."""
        wrapped = self.run("sbatch", "--parsable", "--output=/dev/null", "--wrap=exec sleep 600")
        job = wrapped.strip()
        eventually(lambda: f" {job} " in self.run("scontrol", "listpids"), f"job {job}")
        return job

    def cancel(self, job: str) -> None:
        self.run("scancel", job)
        eventually(lambda: f" {job} " not in self.run("scontrol", "listpids"), f"end of {job}")

    def end(self) -> None:
        self.run("scancel", "--state=RUNNING", "--user=root")
        eventually(lambda: self.run("squeue", "-h") == "", "an empty queue")
        for daemon in reversed(self._daemons):
            daemon.terminate()
            daemon.wait(PATIENCE_S)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a cluster, and leave nothing of it behind."""
    one = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        one.start()
        yield one
    finally:
        one.end()


def look(cluster: Cluster, **tools: str) -> JobsOnNode | Missing:
    """Ask what runs here through the live node."""

    async def run() -> JobsOnNode | Missing:
        node = Live(tools={"scontrol": str(cluster.scontrol), **tools})
        try:
            table = await processes.collect(node, Wanted())
            holding = await held.collect(node, Wanted())
            return await collect(node, Wanted(sample_s=0.1), table, holding)
        finally:
            await node.close()

    return asyncio.run(run())


def test_jobs_come_and_go(cluster: Cluster) -> None:
    """Without a job the answer is none; with one it is that, and its process; then none again."""
    told = [jobs(look(cluster))]
    job = cluster.submit()
    told.append(jobs(look(cluster)))
    cluster.cancel(job)
    told.append(jobs(look(cluster)))

    assert [(), (job,), ()] == told


def jobs(got: JobsOnNode | Missing) -> tuple[str, ...] | None:
    """Return the jobs that Slurm says run here, None where it says nothing."""
    assert isinstance(got, JobsOnNode)
    said = got.said("slurm")
    return None if said is None else said.running


def test_each_process_of_a_job_is_listed(cluster: Cluster) -> None:
    """Without cgroups the pid is what binds a process to its job."""
    job = cluster.submit()
    got = look(cluster)
    cluster.cancel(job)

    assert isinstance(got, JobsOnNode)
    said = got.said("slurm")
    assert said is not None
    assert {(job, "batch")} == {(one.job, one.step) for one in said.processes}


def test_a_node_that_goes_by_another_name_says_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """scontrol prints "no job steps" there too; it is no word about jobs."""
    text = (cluster.folder / "slurm.conf").read_text()
    host = socket.gethostname().partition(".")[0]
    (tmp_path / "slurm.conf").write_text(
        text.replace(f"NodeHostname={host}", "NodeHostname=gpu099")
    )
    wrapper = tmp_path / "scontrol"
    wrapper.write_text(cluster.scontrol.read_text().replace(str(cluster.folder), str(tmp_path)))
    wrapper.chmod(0o755)
    got = look(cluster, scontrol=str(wrapper))

    assert isinstance(got, JobsOnNode)
    assert ([], ["slurm"]) == (list(got.sources), [missing.what for missing in got.silent])


def test_the_steps_answer_while_slurmd_is_away(cluster: Cluster) -> None:
    """A restart of slurmd makes no orphans; with no step left, its absence is unknown."""
    job = cluster.submit()
    cluster.slurmd.terminate()
    cluster.slurmd.wait(PATIENCE_S)
    away = jobs(look(cluster))
    cluster.slurmd = cluster._daemon("slurmd", "-D", "-N", "gpu017")
    cluster.cancel(job)

    assert (job,) == away


def test_the_reason_of_a_drained_node(cluster: Cluster) -> None:
    """Slurm's own words of a node, as its real scontrol prints them."""

    async def run() -> node_reason.NodeReason | Missing:
        node = Live(tools={"scontrol": str(cluster.scontrol)})
        try:
            return await node_reason.asked(node, "gpu017")
        finally:
            await node.close()

    drain = ("scontrol", "update", "NodeName=gpu017")
    cluster.run(*drain, "State=DRAIN", "Reason=Kill task failed")
    drained = asyncio.run(run())
    cluster.run(*drain, "State=RESUME")

    assert isinstance(drained, node_reason.NodeReason)
    assert ("Kill task failed", "root", True) == (
        drained.reason,
        drained.by,
        "DRAIN" in drained.states,
    )


def test_a_reservation_for_maintenance_is_seen_and_its_end_too(cluster: Cluster) -> None:
    """The real scontrol tells it in the node's state; nobody works on the node afterwards."""

    async def run() -> tuple[str | None, str | None]:
        node = Live(tools={"scontrol": str(cluster.scontrol)})
        try:
            reason = await node_reason.asked(node, "gpu017")
            seen = await maintenance.collect(node, Wanted(), reason)
            assert isinstance(seen, maintenance.Maintenance)
            return seen.by, seen.text
        finally:
            await node.close()

    def shown() -> str:
        return cluster.run("scontrol", "show", "node", "gpu017")

    fans = "ReservationName=fans"
    cluster.run(
        *("scontrol", "create", "reservation", fans, "StartTime=now", "Duration=10"),
        *("Nodes=gpu017", "Flags=MAINT,IGNORE_JOBS", "Users=root"),
    )
    eventually(lambda: "MAINT" in shown(), "maintenance")
    during = asyncio.run(run())
    cluster.run("scontrol", "delete", fans)
    eventually(lambda: "MAINT" not in shown(), "the end of maintenance")
    after = asyncio.run(run())

    assert ("slurm", True, (None, None)) == (during[0], "MAINT" in (during[1] or ""), after)
