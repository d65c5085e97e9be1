"""GPUs whose memory is nearly used up, and by whom."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.host.holders import GpuHolders, Holder
from collectors.jobs.running import JobsOnNode
from diagnostics.check import Limits, check
from diagnostics.checks.processes import ownership
from diagnostics.finding import Evidence, Finding, Severity, Statement, Unseen, Well, found

OWNED = "GPU {gpu} uses {used} of {total} GiB ({percent} %), of {owner}"
OPEN = (
    "GPU {gpu} uses {used} of {total} GiB ({percent} %); NVML lists no process on it, "
    "and {owner} has it open"
)
ENDED = "GPU {gpu} uses {used} of {total} GiB ({percent} %), of {owner}, which has ended"
NOBODY = "GPU {gpu} uses {used} of {total} GiB ({percent} %), and no process has it open"
UNKNOWN = "GPU {gpu} uses {used} of {total} GiB ({percent} %); its processes could not be looked at"
OTHER = (
    "GPU {gpu} uses {used} of {total} GiB ({percent} %): {comm} (pid {pid}, {whose}) "
    "holds {other} GiB of it, and {owner} holds {own} GiB"
)
GIB = 1 << 30


class MemoryLimits(Limits, frozen=True, kw_only=True):
    """When a GPU is full."""

    used_percent: Annotated[
        float, msgspec.Meta(gt=0, le=100, description="percent of a GPU's memory in use")
    ] = 95.0


@check(
    "processes.gpu_memory",
    stage="processes",
    faults=("gpu_memory_high", "gpu_memory_held_by_other_process"),
    proved="documented",
)
def gpu_memory(
    gpus: GpuSnapshot,
    holders: GpuHolders | Missing,
    jobs: JobsOnNode | Missing,
    limits: MemoryLimits,
) -> Iterator[Statement]:
    """No GPU is full, unless the job that runs on it has filled it.

    A caching allocator or an inference server fills its GPU by design. Memory without an owner, or
    of a process outside the job, is what makes the job's next allocation fail.
    """
    if (cannot := ownership.unreadable(gpus)) is not None:
        yield cannot
        return
    known = [
        gpu for gpu in gpus.gpus if gpu.memory_total_bytes and gpu.memory_used_bytes is not None
    ]
    full = [gpu for gpu in known if _percent(gpu) > limits.used_percent]
    for gpu in full:
        yield _judge(gpu, holders, jobs)
    if full and isinstance(holders, Missing):
        yield Unseen(missing=holders)
    if known and not full:
        most = max(known, key=_percent)
        yield Well(
            message=f"the fullest of {len(known)} GPUs uses {_percent(most):.0f} % of its memory"
        )
    if not known:
        yield Unseen(missing=ownership.no_memory(gpus.gpus))


def _percent(gpu: Gpu) -> float:
    return 100.0 * (gpu.memory_used_bytes or 0) / (gpu.memory_total_bytes or 1)


def _judge(gpu: Gpu, holders: GpuHolders | Missing, jobs: JobsOnNode | Missing) -> Finding:
    if isinstance(holders, Missing):
        return _found(gpu, "info", UNKNOWN, "unknown")
    there = [h for h in holders.holders if ownership.near(gpu, h) and not ownership.is_system(h)]
    listed = {process.pid: process.used_bytes for process in gpu.processes or ()}
    if not there and not listed and not holders.unseen and gpu.processes is not None:
        return _found(gpu, "warning", NOBODY, "nobody")
    if other := _other(gpu, there, listed, jobs):
        return other
    named = [h for h in there if h.pid in listed] or there
    if not named:
        return _found(gpu, "info", UNKNOWN, "unknown")
    key = ownership.job_key(named[0], jobs)
    owner = f"{ownership.words(*key)}, " if key else ""
    if _left_over(named, jobs):
        who = f"{named[0].comm} (pid {named[0].pid}) of {ownership.standing(named[0], jobs).words}"
        return _found(gpu, "warning", ENDED, "ended", owner=who)
    return _found(
        gpu,
        "info",
        OWNED if named[0].pid in listed else OPEN,
        "" if named[0].pid in listed else "open",
        job=ownership.job_of(named[0], jobs),
        owner=f"{owner}{named[0].comm} (pid {named[0].pid})",
    )


def _left_over(holders: list[Holder], jobs: JobsOnNode | Missing) -> bool:
    """Return whether all are of owners that ended, and were there before and after the answer."""
    return not isinstance(jobs, Missing) and all(
        h.pid in jobs.still_holding and ownership.standing(h, jobs).state == "ended"
        for h in holders
    )


def _other(
    gpu: Gpu, there: list[Holder], listed: dict[int, int | None], jobs: JobsOnNode | Missing
) -> Finding | None:
    """Return the finding that a process outside the running jobs holds most of the memory."""
    how = {h.pid: ownership.standing(h, jobs) for h in there if listed.get(h.pid) is not None}
    used = {h.pid: listed[h.pid] or 0 for h in there if h.pid in how}
    inside = [h for h in there if h.pid in how and how[h.pid].state == "running"]
    outside = [h for h in there if h.pid in how and how[h.pid].state in ("ended", "outside")]
    if not inside or not outside:
        return None
    most = max(outside, key=lambda h: used[h.pid])
    own = sum(used[h.pid] for h in inside)
    if used[most.pid] * 2 <= (gpu.memory_used_bytes or 0) or used[most.pid] <= own:
        return None
    return _found(
        gpu,
        "warning",
        OTHER,
        "",
        fault="gpu_memory_held_by_other_process",
        job=ownership.job_of(inside[0], jobs),
        comm=most.comm,
        pid=most.pid,
        whose=how[most.pid].words,
        other=_gib(used[most.pid]),
        owner=how[inside[0].pid].words,
        own=_gib(own),
    )


def _found(
    gpu: Gpu,
    severity: Severity,
    template: str,
    variant: str,
    *,
    fault: str = "gpu_memory_high",
    job: str | None = None,
    **args: str | float,
) -> Finding:
    return found(
        fault,
        severity,
        ownership.card(gpu, job),
        template,
        Evidence(
            source="nvmlDeviceGetMemoryInfo_v2",
            values={"used_bytes": gpu.memory_used_bytes, "total_bytes": gpu.memory_total_bytes},
        ),
        Evidence(
            source="nvmlDeviceGetComputeRunningProcesses",
            values={"used_bytes": {str(p.pid): p.used_bytes for p in gpu.processes or ()}},
        ),
        variant=variant,
        gpu=ownership.named(gpu),
        used=_gib(gpu.memory_used_bytes or 0),
        total=_gib(gpu.memory_total_bytes or 0),
        percent=round(_percent(gpu), 1),
        **args,  # type: ignore[arg-type]  # only what the template names
    )


def _gib(size: int) -> float:
    return round(size / GIB, 1)
