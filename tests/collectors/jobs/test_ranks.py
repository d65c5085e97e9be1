"""Ranks are told by their environment; their logs are found by what they and theirs write."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.owner import Held
from collectors.facts.processes import Process
from collectors.facts.wanted import Wanted
from collectors.jobs.job_logs import JobLogs, collect
from collectors.jobs.ranks import LocalRanks, Rank, job_of, joined
from tests.recording import recorded


def process(pid: int, ppid: int, comm: str = "python") -> Process:
    """Return a process."""
    return Process(pid=pid, comm=comm, state="S", ppid=ppid, start_s=900.0)


def table(*processes: Process) -> Mapping[int, Process]:
    """Return processes by pid."""
    return {one.pid: one for one in processes}


SLURM = "0::/system.slice/slurmstepd.scope/job_90417/step_0/user/task_1\n"


def test_a_rank_is_told_with_its_job_gpus_and_who_started_it() -> None:
    """The job by its control group, the GPUs by the devices that it has open."""
    held = Held(
        pid=71,
        start_ticks=90_000,
        uid=1042,
        comm="python",
        cgroup=SLURM,
        devices=("/dev/nvidia3", "/dev/nvidiactl"),
        fds=90,
    )
    environ = {"RANK": "11", "WORLD_SIZE": "16"}
    found = joined(table(process(60, 1, "bash"), process(71, 60)), {71: held}, {71: environ})
    told = [(r.rank, r.world, r.job, r.gpus, r.launcher, r.above) for r in found]
    assert [(11, 16, "90417", (3,), 60, (60,))] == told


def test_what_a_rank_started_is_no_rank() -> None:
    """Workers of a loader or a compiler inherit the environment of their rank."""
    seen = table(process(60, 1), process(71, 60), process(72, 71), process(73, 60))
    mine = {"RANK": "0", "WORLD_SIZE": "2"}
    environs = {71: mine, 72: mine, 73: {**mine, "RANK": "1"}, 60: {"WORLD_SIZE": "2"}}
    assert [71, 73] == [rank.pid for rank in joined(seen, {}, environs)]


def test_a_job_without_a_scheduler_is_called_by_what_started_it() -> None:
    """Two runs of torchrun on one node are two jobs."""
    seen = table(process(60, 1), process(61, 1), process(71, 60), process(72, 61))
    environs = {71: {"RANK": "0"}, 72: {"RANK": "0"}}
    ranks = LocalRanks(ranks=joined(seen, {}, environs))
    assert ["pid 60", "pid 61"] == list(ranks.jobs())


@given(text=st.text(max_size=20))
def test_any_environment_is_read(text: str) -> None:
    """A rank that is no number is None, whatever stands there."""
    (rank,) = joined(table(process(71, 60)), {}, {71: {"RANK": text, "SLURM_JOB_ID": text}})
    assert (rank.rank is None) == (not (text.isascii() and text.isdecimal() and len(text) < 11))


RANK = Rank(pid=71, comm="python", state="S", start_s=9.0, rank=8, job="90417", above=(60,))


def found(tmp_path: Path, path: str, kind: str, rank: int) -> JobLogs | Missing:
    """Return the logs of one rank that writes one file."""
    entry = {"pid": 71, "stream": 1, "path": path, "device": 1, "inode": 2, "size": 9, "time": 1.0}
    answer = {"kind": "job_logs", "args": {"pids": [71]}, "answer": [{**entry, "kind": kind}]}
    one = Rank(pid=71, comm="python", state="S", start_s=9.0, rank=rank, job="90417")
    node = recorded(tmp_path, answers=[answer])
    return asyncio.run(collect(node, Wanted(), LocalRanks(ranks=(one,))))


@pytest.mark.parametrize(
    ("path", "kind", "rank", "read"),
    [
        ("/home/u/out.log", "ext4", 8, "here"),
        ("/home/u/out.log", "nfs4", 0, "here"),
        ("/home/u/out.log", "nfs4", 8, "elsewhere"),
        ("/home/u/out.log", "lustre", 8, "elsewhere"),
        ("/home/u/rank8.log", "nfs4", 8, "here"),
        ("/home/u/out-gpu-017.log", "nfs4", 8, "here"),
    ],
)
def test_of_a_shared_log_the_node_of_the_lowest_rank_reads(
    tmp_path: Path, path: str, kind: str, rank: int, read: str
) -> None:
    """Unless its name says that it is this rank's or this node's."""
    seen = found(tmp_path, path, kind, rank)
    assert isinstance(seen, JobLogs)
    assert [read] == ["elsewhere" if log.elsewhere else "here" for log in seen.logs]


def test_logs_that_cannot_be_listed_are_missing(tmp_path: Path) -> None:
    """That nothing was asked is never "no log"."""
    seen = asyncio.run(collect(recorded(tmp_path), Wanted(), LocalRanks(ranks=(RANK,))))
    assert isinstance(seen, Missing)
    assert (Cause.NOT_RECORDED, "90417") == (seen.cause, job_of(RANK))
