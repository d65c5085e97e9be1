"""GPUs that a job holds and does not use, or uses unlike its others."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.processes import ProcessTable
from collectors.facts.subject import Subject
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.host.holders import GpuHolders, Holder
from collectors.jobs.running import JobsOnNode
from diagnostics.check import Limits, check
from diagnostics.checks.processes import ownership
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

IDLE = "{owner} has held {gpus} for {age} min: 0 % in use in two readings {window} s apart"
UNLIKE = (
    "GPU {gpu} of {owner} is {use} % in use; the median of the job's {number} GPUs is {median} %"
)
NVML = "nvmlDeviceGetUtilizationRates"


class UseLimits(Limits, frozen=True, kw_only=True):
    """What is idle, what is unlike, and from which window on it is more than a note."""

    young_min: Annotated[
        float, msgspec.Meta(ge=0, description="minutes that a job may take to start computing")
    ] = 10.0
    window_s: Annotated[
        float, msgspec.Meta(gt=0, description="seconds of samples from which it is a warning")
    ] = 600.0
    unlike_points: Annotated[
        float, msgspec.Meta(gt=0, description="percentage points from the job's median")
    ] = 40.0
    fewest: Annotated[
        int, msgspec.Meta(ge=3, description="GPUs of a job from which they are compared")
    ] = 4


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The GPUs of one job or container with what both samples read, and the oldest process."""

    kind: str
    name: str
    gpus: tuple[Gpu, ...]
    age_s: float

    @property
    def words(self) -> str:
        """Return the owner for a sentence."""
        return ownership.words(self.kind, self.name)

    @property
    def job(self) -> str | None:
        """Return the Slurm job."""
        return self.name if self.kind == "slurm" else None


@check(
    "processes.gpu_use",
    stage="processes",
    faults=("gpu_idle_while_allocated", "gpu_utilization_imbalance"),
    proved="documented",
)
def gpu_use(
    gpus: GpuSnapshot,
    holders: GpuHolders,
    jobs: JobsOnNode | Missing,
    table: ProcessTable,
    limits: UseLimits,
) -> Iterator[Statement]:
    """Each GPU of a job is in use, and about as much as the others of that job.

    An idle GPU is paid for and does no work; in synchronous training one that stands apart makes
    all others wait. A checkpoint idles all for minutes: two samples of one run are only a note.
    """
    if (cannot := ownership.unreadable(gpus)) is not None:
        yield cannot
        return
    known = [gpu for gpu in gpus.gpus if _samples(gpu)]
    if not known:
        yield Unseen(missing=_unread(gpus.gpus))
        return
    groups = _groups(known, holders, jobs, table.uptime_s)
    if not groups:
        yield NotApplicable(why="no job holds a GPU")
        return
    severity: Severity = "warning" if gpus.watched_s >= limits.window_s else "info"
    findings = [f for group in groups for f in _judge(group, gpus.watched_s, severity, limits)]
    yield from findings
    if not findings:
        uses = [_use(gpu) for group in groups for gpu in group.gpus]
        least, most = f"{min(uses):.0f}", f"{max(uses):.0f}"
        percent = least if least == most else f"{least} to {most}"
        yield Well(message=f"GPUs that jobs hold: {len(uses)}, {percent} % in use")


def _samples(gpu: Gpu) -> tuple[int, ...]:
    both = (gpu.utilisation_before_percent, gpu.utilisation_percent)
    return tuple(value for value in both if value is not None) if None not in both else ()


def _use(gpu: Gpu) -> float:
    return sum(_samples(gpu)) / len(_samples(gpu))


def _unread(gpus: Sequence[Gpu]) -> Missing:
    # NVML gives no utilisation of a GPU in MIG mode.
    detail = f"NVML gives no utilisation of {len(gpus)} GPUs"
    return Missing(what="GPU utilisation", cause=Cause.CRASHED, detail=detail)


def _groups(
    gpus: Sequence[Gpu], holders: GpuHolders, jobs: JobsOnNode | Missing, uptime_s: float
) -> list[Group]:
    """Return each job with the GPUs that it alone has."""
    users = [h for h in holders.holders if not ownership.is_system(h)]
    held: dict[tuple[str, str], list[tuple[Gpu, Holder]]] = {}
    for gpu in gpus:
        there = ownership.on_gpu(gpu, users)
        there = tuple(h for h in there if ownership.standing(h, jobs).state != "ended")
        keys = {key for h in there if (key := ownership.job_key(h, jobs))}
        if len(keys) == 1:
            held.setdefault(keys.pop(), []).extend((gpu, h) for h in there)
    return [
        Group(
            kind=kind,
            name=name,
            gpus=tuple({gpu.index: gpu for gpu, _ in pairs}.values()),
            age_s=uptime_s - min(h.start_s for _, h in pairs),
        )
        for (kind, name), pairs in held.items()
    ]


def _judge(
    group: Group, watched_s: float, severity: Severity, limits: UseLimits
) -> Iterator[Finding]:
    if group.age_s < limits.young_min * 60:
        return
    if all(max(_samples(gpu)) == 0 for gpu in group.gpus):
        yield _idle(group, watched_s, severity)
    elif len(group.gpus) >= limits.fewest:
        yield from (_unlike(group, gpu, severity) for gpu in _apart(group, limits))


def _apart(group: Group, limits: UseLimits) -> list[Gpu]:
    """Return the GPUs that stand apart from the median in both samples, where the rest does not."""
    middle = median(map(_use, group.gpus))
    away = {gpu.index: abs(_use(gpu) - middle) for gpu in group.gpus}
    spread = median(away.values())
    bound = max(limits.unlike_points, 4 * spread)
    return [
        gpu for gpu in group.gpus if all(abs(sample - middle) > bound for sample in _samples(gpu))
    ]


def _idle(group: Group, watched_s: float, severity: Severity) -> Finding:
    return found(
        "gpu_idle_while_allocated",
        severity,
        Subject(kind="job", name=group.name, job=group.job),
        IDLE,
        Evidence(source=NVML, values={"percent": {_name(g): _samples(g) for g in group.gpus}}),
        owner=group.words,
        gpus="1 GPU" if len(group.gpus) == 1 else f"{len(group.gpus)} GPUs",
        age=round(group.age_s / 60),
        window=round(watched_s),
    )


def _unlike(group: Group, gpu: Gpu, severity: Severity) -> Finding:
    return found(
        "gpu_utilization_imbalance",
        severity,
        ownership.card(gpu, group.job),
        UNLIKE,
        Evidence(source=NVML, values={"percent": {_name(g): _samples(g) for g in group.gpus}}),
        gpu=ownership.named(gpu),
        owner=group.words,
        use=round(_use(gpu)),
        number=len(group.gpus),
        median=round(median(map(_use, group.gpus))),
    )


def _name(gpu: Gpu) -> str:
    return gpu.pci or f"index {gpu.index}"
