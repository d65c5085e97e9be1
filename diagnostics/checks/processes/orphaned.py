"""Processes that hold a GPU after their job, or without ever having had one."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.processes import ProcessTable
from collectors.gpu.nvml import GpuSnapshot
from collectors.host.holders import GpuHolders, Holder
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
SCHEDULERS = ("slurm", "kubernetes")


class OrphanLimits(Limits, frozen=True, kw_only=True):
    """Which holders are expected, and how young ones are left alone."""

    settle_s: Annotated[
        float, msgspec.Meta(ge=0, description="age in seconds before a holder is judged")
    ] = 60.0
    known: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="names (15 letters at most) of the site's own GPU services"),
    ] = ()


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What a holder is judged against; `environ` says whether environments could be read."""

    jobs: JobsOnNode
    gpus: GpuSnapshot | Missing
    judged: tuple[tuple[Holder, Standing], ...]
    environ: bool = True

    @property
    def pods(self) -> bool:
        """Return whether a running pod has a GPU open."""
        return any(how.kind == "kubernetes" and how.state == "running" for _, how in self.judged)


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
    scene = Scene(
        jobs=jobs,
        gpus=gpus,
        judged=tuple(
            (holder, ownership.standing(holder, jobs))
            for holder in holders.holders
            if holder.minors
            and not ownership.is_system(holder, limits.known)
            and table.uptime_s - holder.start_s >= limits.settle_s
        ),
        environ=holders.environ_missing is None,
    )
    ill = [f for holder, how in scene.judged if (f := _judge(holder, how, scene))]
    yield from ill
    yield from (Unseen(missing=why) for why in _unknown(scene, holders))
    if not ill:
        yield Well(message=_well(scene))


def _judge(holder: Holder, how: Standing, scene: Scene) -> Finding | None:
    if how.state == "ended" and holder.pid in scene.jobs.still_holding:
        template = ENDED.get(how.kind, ENDED["container"])
        sure = BY_ENVIRON if holder.job_by_environ else SURE
        return _found("gpu_process_orphaned", "warning", template, holder, how, scene, sure)
    severity = _foreign(holder, how, scene)
    if severity is None:
        return None
    return _found("gpu_process_foreign", severity, FOREIGN, holder, how, scene, SURE)


def _foreign(holder: Holder, how: Standing, scene: Scene) -> Severity | None:
    """Return how grave it is that *holder* is in no job; None where that is no matter.

    Without a scheduler a user's process is just fine. Containers and services beside Slurm are
    how some sites run their jobs and exporters, and a monitor that opens every device computes on
    none: notes. So is one whose environment, which may name its job, could not be read.
    """
    slurm = scene.jobs.said("slurm")
    beside = how.state == "running" and how.kind in ("docker", "podman") and slurm is not None
    if not (how.state == "outside" or beside) or (slurm is None and not scene.pods):
        return None
    busy = scene.pods or (slurm is not None and bool(slurm.running))
    grave = (
        busy
        and scene.environ
        and holder.owner.kind in ("user", "none")
        and ownership.computes(holder, scene.gpus)
    )
    return "warning" if grave else "info"


def _found(  # noqa: PLR0917 - the parts of one sentence
    fault: str,
    severity: Severity,
    template: str,
    holder: Holder,
    how: Standing,
    scene: Scene,
    confidence: float,
) -> Finding:
    source = scene.jobs.said(SOURCES.get(how.kind, ("slurm",))[0])
    running = list(source.running[:MOST_NAMED]) if source else None
    return found(
        fault,
        severity,
        ownership.process(holder, scene.jobs),
        template,
        Evidence(source=f"/proc/{holder.pid}/fd", values={"minors": holder.minors}),
        Evidence(source=_word(how), values={"running": running}),
        variant=how.kind,
        confidence=confidence,
        comm=holder.comm,
        pid=holder.pid,
        uid=holder.uid,
        gpus=ownership.gpus_of(holder, scene.gpus),
        owner=how.words,
    )


def _word(how: Standing) -> str:
    tools = {"kubernetes": "crictl ps", "docker": "docker ps", "podman": "podman ps"}
    return tools.get(how.kind, "scontrol listpids")


def _unknown(scene: Scene, holders: GpuHolders) -> list[Missing]:
    """Return what was not said of the holders: by their own source, or for those outside by any."""
    missing = [how.missing for _, how in scene.judged if how.missing]
    if any(how.state == "outside" for _, how in scene.judged):
        missing += [why for name in SCHEDULERS if (why := scene.jobs.unknown(name))]
        missing += [holders.environ_missing] if holders.environ_missing else []
    return list({why.what: why for why in missing}.values())


def _well(scene: Scene) -> str:
    count = len(scene.judged)
    if not count:
        return "no process of a job or user has a GPU open"
    what = "1 process has" if count == 1 else f"{count} processes have"
    if any(how.state == "outside" for _, how in scene.judged):
        return f"{what} a GPU open; no scheduler is known to run jobs here"
    return f"{what} a GPU open, each in a job or container that runs"
