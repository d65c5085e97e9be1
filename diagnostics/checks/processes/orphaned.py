"""Processes that hold a GPU after their job, or without ever having had one."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.nvml import GpuSnapshot
from collectors.host.holders import GpuHolders, Holder
from collectors.host.processes import ProcessTable
from collectors.jobs.running import JobsOnNode
from diagnostics.check import Limits, check
from diagnostics.checks.processes import ownership
from diagnostics.checks.processes.ownership import SOURCES, Standing
from diagnostics.finding import (
    Evidence,
    Finding,
    NotApplicable,
    Severity,
    Statement,
    Unseen,
    Well,
    found,
)

ENDED = {
    "slurm": "{comm} (pid {pid}, uid {uid}) has {gpus} open, and {owner} has no step left here",
    "container": "{comm} (pid {pid}, uid {uid}) has {gpus} open, and its {owner} does not run",
}
FOREIGN = "{comm} (pid {pid}, uid {uid}) has {gpus} open and belongs to {owner}"
# A job's own word in its environment can be copied or outlive it; the cgroup's cannot.
SURE, BY_ENVIRON = 0.95, 0.7
MOST_NAMED = 16


class OrphanLimits(Limits, frozen=True, kw_only=True):
    """Which holders are expected, and how young ones are left alone."""

    settle_s: Annotated[
        float, msgspec.Meta(ge=0, description="age in seconds before a holder is judged")
    ] = 60.0
    known: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="names (15 letters at most) of the site's own GPU services"),
    ] = ()


@check(
    "processes.orphaned",
    stage="processes",
    faults=("gpu_process_orphaned", "gpu_process_foreign"),
    proved="real-tool",
)
def orphaned(
    holders: GpuHolders,
    jobs: JobsOnNode,
    table: ProcessTable,
    gpus: GpuSnapshot | Missing,
    limits: OrphanLimits,
) -> Iterator[Statement]:
    """Every process that has a GPU open belongs to a job or container that runs.

    A leftover keeps memory that the next job was promised, and a reset of its GPU is refused. That
    a job has ended is the scheduler's or runtime's word alone: a parent of 1 proves nothing.
    """
    if not holders.devices:
        yield NotApplicable(why=ownership.NO_GPU)
        return
    if missing := ownership.partial(holders):
        yield missing
    judged = [
        (holder, ownership.standing(holder, jobs))
        for holder in holders.holders
        if holder.minors
        and not ownership.is_system(holder, limits.known)
        and table.uptime_s - holder.start_s >= limits.settle_s
    ]
    ill = [f for holder, how in judged if (f := _judge(holder, how, jobs, gpus, judged))]
    yield from ill
    yield from _unknown(judged)
    if not ill:
        yield Well(message=_well(len(judged), jobs))


def _judge(
    holder: Holder,
    how: Standing,
    jobs: JobsOnNode,
    gpus: GpuSnapshot | Missing,
    judged: list[tuple[Holder, Standing]],
) -> Finding | None:
    if how.state == "ended" and holder.pid in jobs.still_holding:
        template = ENDED.get(how.kind, ENDED["container"])
        sure = BY_ENVIRON if holder.job_by_environ else SURE
        return _found(
            "gpu_process_orphaned",
            "warning",
            template,
            holder,
            how,
            jobs=jobs,
            gpus=gpus,
            confidence=sure,
        )
    severity = _foreign(holder, how, jobs, judged)
    if severity == "warning" and not ownership.computes(holder, gpus):
        severity = "info"  # A monitor opens every device, and computes on none.
    if severity is None:
        return None
    return _found(
        "gpu_process_foreign", severity, FOREIGN, holder, how, jobs=jobs, gpus=gpus, confidence=SURE
    )


def _foreign(
    holder: Holder,
    how: Standing,
    jobs: JobsOnNode,
    judged: list[tuple[Holder, Standing]],
) -> Severity | None:
    """Return how grave it is that *holder* is in no job; None where that is no matter.

    Without a scheduler a user's process is just fine. Containers and services beside Slurm are
    how some sites run their jobs and exporters: a note.
    """
    slurm = jobs.said("slurm")
    pods = any(other.kind == "kubernetes" and other.state == "running" for _, other in judged)
    beside = how.state == "running" and how.kind in ("docker", "podman") and slurm is not None
    if not (how.state == "outside" or beside) or (slurm is None and not pods):
        return None
    busy = pods or (slurm is not None and bool(slurm.running))
    return "warning" if busy and holder.owner.kind in ("user", "none") else "info"


def _found(
    fault: str,
    severity: Severity,
    template: str,
    holder: Holder,
    how: Standing,
    *,
    jobs: JobsOnNode,
    gpus: GpuSnapshot | Missing,
    confidence: float,
) -> Finding:
    source = jobs.said(SOURCES.get(how.kind, ("slurm",))[0])
    running = list(source.running[:MOST_NAMED]) if source else None
    return found(
        fault,
        severity,
        ownership.process(holder, jobs),
        template,
        Evidence(source=f"/proc/{holder.pid}/fd", values={"minors": holder.minors}),
        Evidence(source=_word(how), values={"running": running}),
        variant=how.kind,
        confidence=confidence,
        comm=holder.comm,
        pid=holder.pid,
        uid=holder.uid,
        gpus=ownership.gpus_of(holder, gpus),
        owner=how.words,
    )


def _word(how: Standing) -> str:
    tools = {"kubernetes": "crictl ps", "docker": "docker ps", "podman": "podman ps"}
    return tools.get(how.kind, "scontrol listpids")


def _unknown(judged: list[tuple[Holder, Standing]]) -> Iterator[Statement]:
    missing = {how.missing.what: how.missing for _, how in judged if how.missing}
    yield from (Unseen(missing=why) for why in missing.values())


def _well(count: int, jobs: JobsOnNode) -> str:
    if not count:
        return "no process of a job or user has a GPU open"
    what = "1 process has" if count == 1 else f"{count} processes have"
    if not jobs.sources:
        return f"{what} a GPU open; no scheduler or container runtime is used here"
    return f"{what} a GPU open, each with an owner that runs"
