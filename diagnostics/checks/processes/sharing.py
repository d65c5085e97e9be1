"""Two jobs on one GPU."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.host.holders import GpuHolders, Holder
from collectors.jobs.running import JobsOnNode
from diagnostics.check import Limits, check
from diagnostics.checks.processes import ownership
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

SHARED = "GPU {gpu} is used by {number} jobs at once: {owners}"


class SharingLimits(Limits, frozen=True, kw_only=True):
    """Whether the site shares GPUs on purpose."""

    shared: Annotated[
        bool,
        msgspec.Meta(description="jobs share GPUs by intention (Slurm shards, time slicing)"),
    ] = False


@check(
    "processes.sharing",
    stage="processes",
    faults=("cgroup_isolation_missing",),
    proved="documented",
)
def sharing(
    gpus: GpuSnapshot,
    holders: GpuHolders,
    jobs: JobsOnNode | Missing,
    limits: SharingLimits,
) -> Iterator[Statement]:
    """Each GPU is used by one job at a time.

    Nothing stops one job from using up the memory of the other or from crashing its context. Only
    processes with a compute context count: a program may open every device it can see.
    """
    if (cannot := ownership.unreadable(gpus)) is not None:
        yield cannot
        return
    if limits.shared:
        yield NotApplicable(why="jobs share GPUs here by intention (processes.sharing.shared)")
        return
    shared = [f for gpu in gpus.gpus if (f := _judge(gpu, holders, jobs))]
    yield from shared
    blind = [gpu for gpu in gpus.gpus if gpu.processes is None and gpu.error is None]
    if blind:
        yield Unseen(missing=ownership.no_processes(blind))
    if not shared and len(blind) < len(gpus.gpus):
        yield Well(message=f"none of {len(gpus.gpus)} GPUs is used by two jobs")


def _judge(gpu: Gpu, holders: GpuHolders, jobs: JobsOnNode | Missing) -> Finding | None:
    if gpu.processes is None or gpu.mig or _served(gpu, holders):
        return None
    users = [h for h in ownership.on_gpu(gpu, holders.holders) if not ownership.is_system(h)]
    owners: dict[tuple[str, str], list[Holder]] = {}
    for holder in users:
        key = ownership.job_key(holder, jobs)
        # One whose job has ended is an orphan, which another check tells of.
        if key is not None and ownership.standing(holder, jobs).state != "ended":
            owners.setdefault(key, []).append(holder)
    if len(owners) < 2:  # noqa: PLR2004 - one owner is no sharing
        return None
    # Pods on one GPU are most often time slicing, which a cluster turns on by intention.
    grave = all(kind == "slurm" for kind, _ in owners)
    return found(
        "cgroup_isolation_missing",
        "warning" if grave else "info",
        ownership.card(gpu),
        SHARED,
        Evidence(
            source="nvmlDeviceGetComputeRunningProcesses",
            values={"pids": sorted(h.pid for h in users)},
        ),
        *(
            Evidence(source=f"/proc/{h.pid}/cgroup", values={"owner": f"{kind} {name}"})
            for (kind, name), (h, *_) in owners.items()
        ),
        gpu=ownership.named(gpu),
        number=len(owners),
        owners=", ".join(_named(key, some) for key, some in owners.items()),
    )


def _named(key: tuple[str, str], holders: list[Holder]) -> str:
    first = holders[0]
    return f"{ownership.words(*key)} ({first.comm}, pid {first.pid})"


def _served(gpu: Gpu, holders: GpuHolders) -> bool:
    """Return whether an MPS server is on the GPU: its clients share it by design."""
    return any(h.comm == ownership.MPS_SERVER and ownership.near(gpu, h) for h in holders.holders)
