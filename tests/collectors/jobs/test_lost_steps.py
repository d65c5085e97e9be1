"""Steps without a process: what is asked, when, and what is believed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.jobs import lost_steps
from collectors.jobs.lost_steps import LostStep, LostSteps
from collectors.jobs.node_reason import NodeReason
from collectors.jobs.running import JobProcess, JobsOnNode, Source
from tests.recording import recorded

OURS = NodeReason(name="gpu-017", states=("MIXED", "DRAIN"), reason="gpudiag: gpu_lost gpu 3")
STEPS = ["squeue", "-h", "-s", "-w", "gpu-017", "-o", "%i %M"]
JOBS = ["squeue", "-h", "-t", "all", "-j", "88123,88130", "-O", lost_steps.FIELDS]
SHOWN = "88123.0 1-02:03:04\n88123.batch 1-02:03:09\n88130.2 12:40\n88141.0 0:31\n"
TOLD = "88123 RUNNING 1 1 \n88130 RUNNING 0 1 \n"


def jobs(*processes: tuple[int, str, str]) -> JobsOnNode:
    listed = tuple(JobProcess(pid=pid, job=job, step=step) for pid, job, step in processes)
    return JobsOnNode(sources=(Source(name="slurm", processes=listed),))


def asked(folder: Path, slurm: NodeReason | Missing, here: JobsOnNode | Missing) -> object:
    commands: list[dict[str, Any]] = [
        {"argv": argv, "status": 0, "stdout": text, "stderr": "", "seconds": 0.1}
        for argv, text in ((STEPS, SHOWN), (JOBS, TOLD))
    ]
    node = recorded(folder, commands=commands, tools=["squeue"])
    return asyncio.run(lost_steps.collect(node, Wanted(), slurm, here))


def test_a_step_of_which_nothing_is_left(tmp_path: Path) -> None:
    """The place that Slurm itself holds is no process of a job; who lives is not lost."""
    expected = LostSteps(
        steps=(
            LostStep(job="88123", step="0", ran_s=93_784.0, requeue=True),
            LostStep(job="88130", step="2", ran_s=760.0, requeue=False),
        )
    )
    here = jobs((7, "88123", "extern"), (9, "88141", "0"))
    assert expected == asked(tmp_path, OURS, here)


@pytest.mark.parametrize(
    "slurm",
    [
        NodeReason(),
        NodeReason(name="gpu-017", states=("MIXED",)),
        NodeReason(name="gpu-017", states=("IDLE", "DRAIN"), reason=OURS.reason),
        NodeReason(name="gpu-017", states=("MIXED", "DRAIN"), reason="new fans"),
        NodeReason(name="--help", states=("MIXED", "DRAIN"), reason=OURS.reason),
    ],
    ids=["no Slurm", "in use", "idle", "a person's drain", "no name"],
)
def test_nobody_is_asked_elsewhere(tmp_path: Path, slurm: NodeReason) -> None:
    """There is one controller for all nodes: without the need it has no question."""
    node = recorded(tmp_path)
    got = asyncio.run(lost_steps.collect(node, Wanted(), slurm, jobs()))
    assert LostSteps() == got


def test_what_was_not_seen_is_missing(tmp_path: Path) -> None:
    """A controller that does not answer says nothing of steps, and lost none of them."""
    node = recorded(tmp_path, tools=["squeue"])
    assert isinstance(asyncio.run(lost_steps.collect(node, Wanted(), OURS, jobs())), Missing)


@given(st.text(alphabet="0123456789.:- \nbatchR", max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Whatever squeue prints, reading it does not fail."""
    lost_steps.steps(text)


@given(st.integers(0, 99), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_time_comes_back(days: int, hours: int, minutes: int, some: int) -> None:
    """As Slurm writes it, with days before the dash."""
    text = f"{days}-{hours:02}:{minutes:02}:{some:02}"
    assert days * 86_400 + hours * 3600 + minutes * 60 + some == lost_steps.seconds(text)
