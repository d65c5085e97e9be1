"""Steps that the controller has running on this node, and of which no process is left here.

Their ranks are gone while those on other nodes wait for them. It is asked only while the node
drains for us: elsewhere nobody needs to know, and each question costs the one controller of all.
"""

import re

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.node_reason import NAME, NodeReason
from collectors.jobs.running import JobsOnNode
from collectors.node.protocol import Node

TOOL = "squeue"
DEADLINE_S = 4.0
OURS = "gpudiag:"
BUSY = frozenset({"ALLOCATED", "MIXED"})
# The step that only holds the job's place; its process is Slurm's own.
EXTERN = "extern"
MOST = 64
# 88123.0 1-02:03:04
STEP = re.compile(r"^(\d{1,10})\.(\d{1,6}) ([\d:-]{4,20})\s*$", re.MULTILINE)
# 88123 RUNNING 1 1: no field that users write
JOB = re.compile(r"^(\d{1,10}) RUNNING ([01]) ([01])\s*$", re.MULTILINE)
FIELDS = "JobID: ,State: ,Requeue: ,BatchFlag: "


class LostStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step without a process here, for how long it ran, and whether its job may be requeued."""

    job: str
    step: str
    ran_s: float
    requeue: bool


class LostSteps(Observation, frozen=True, kw_only=True):
    """All of them; none where the node does not drain for us."""

    steps: tuple[LostStep, ...] = ()


async def collect(
    node: Node, wanted: Wanted, slurm: NodeReason | Missing, jobs: JobsOnNode | Missing
) -> LostSteps | Missing:
    """Compare the controller's steps with the processes of slurmd's."""
    del wanted
    if isinstance(slurm, Missing):
        return slurm
    if isinstance(jobs, Missing):
        return jobs
    here = jobs.said("slurm")
    if here is None or not _drains(slurm) or not NAME.fullmatch(slurm.name or ""):
        return LostSteps()
    alive = {one.job for one in here.processes if one.step != EXTERN}
    return await _lost(node, slurm.name or "", alive)


async def _lost(node: Node, name: str, alive: set[str]) -> LostSteps | Missing:
    got = await _asked(node, "-s", "-w", name, "-o", "%i %M")
    if isinstance(got, Missing):
        return got
    lost = [one for one in steps(got) if one[0] not in alive]
    if not lost:
        return LostSteps()
    numbers = ",".join(dict.fromkeys(job for job, _, _ in lost))
    told = await _asked(node, "-t", "all", "-j", numbers, "-O", FIELDS)
    if isinstance(told, Missing):
        return told
    may = {job for job, requeue, batch in JOB.findall(told) if requeue == batch == "1"}
    return LostSteps(
        steps=tuple(
            LostStep(job=job, step=step, ran_s=ran, requeue=job in may) for job, step, ran in lost
        )
    )


def _drains(slurm: NodeReason) -> bool:
    states = set(slurm.states)
    return "DRAIN" in states and bool(BUSY & states) and (slurm.reason or "").startswith(OURS)


async def _asked(node: Node, *words: str) -> str | Missing:
    got = await node.command(TOOL, "-h", *words, deadline_s=DEADLINE_S)
    if isinstance(got, Missing):
        return got
    if got.status != 0:
        said = (got.stderr or got.stdout).strip().partition("\n")[0][:120]
        return Missing(what=TOOL, cause=Cause.GARBLED, detail=f"squeue: {said}")
    return got.stdout


def steps(text: str) -> list[tuple[str, str, float]]:
    """Return job, number and seconds of each numbered step in what `squeue -s` prints."""
    return [(job, step, seconds(ran)) for job, step, ran in STEP.findall(text)[:MOST]]


def seconds(text: str) -> float:
    """Return the seconds of `1-02:03:04`, `02:03` or `0:09`."""
    days, _, clock = text.rpartition("-")
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part or 0)
    return float(total + 86_400 * int(days.rpartition("-")[2] or 0))
