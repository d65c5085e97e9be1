"""Whose a GPU's processes are: the join of holders, jobs and GPUs, and the words for it."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.host.holders import GpuHolders, Holder
from collectors.jobs.running import JobsOnNode
from diagnostics.finding import NotApplicable, Statement, Unseen

# Holders that belong to the node and not to a job; the kernel cuts names at 15 letters.
SYSTEM = frozenset(
    {
        "Xorg",
        "Xwayland",
        "dcgm-exporter",
        "dcgmi",
        "gnome-shell",
        "gpudiag-nvml",
        "nv-fabricmanage",
        "nv-hostengine",
        "nvidia-cuda-mps",
        "nvidia-device-p",
        "nvidia-imex",
        "nvidia-persiste",
        "nvidia-smi",
        "nvvs",
    }
)
MPS_SERVER = "nvidia-cuda-mps"

# Which sources know the owners of a kind: with cri-dockerd a pod's container is docker's as well.
SOURCES = {
    "slurm": ("slurm",),
    "kubernetes": ("kubernetes", "docker"),
    "docker": ("docker", "kubernetes"),
    "podman": ("podman",),
}
NO_GPU = "no NVIDIA device in /dev"
SHORT_ID = 12
MOST_NAMED = 3


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a process stands: its owner runs, has ended, cannot be known, or it has no owner."""

    state: Literal["running", "ended", "unknown", "outside"]
    kind: str = "none"
    name: str = ""
    missing: Missing | None = None

    @property
    def words(self) -> str:
        """Return the owner for a sentence."""
        return words(self.kind, self.name)


def words(kind: str, name: str) -> str:
    """Return an owner in words: `job 88123`, `pod ...`, `container 3f2a1b0c9d8e`."""
    if kind in ("slurm", "pod"):
        return f"{'job' if kind == 'slurm' else 'pod'} {name}"
    return f"container {name[:SHORT_ID]}" if kind in SOURCES else name


def standing(holder: Holder, jobs: JobsOnNode | Missing) -> Standing:
    """Return how *holder* stands by the word of the scheduler or runtime that owns it."""
    if isinstance(jobs, Missing):
        return Standing(state="unknown", missing=jobs)
    slurm = jobs.said("slurm")
    listed = {entry.pid: entry.job for entry in slurm.processes} if slurm else {}
    if holder.pid in listed and holder.owner.kind != "slurm":
        return Standing(state="running", kind="slurm", name=listed[holder.pid])
    kind, name = _claim(holder, jobs)
    if kind not in SOURCES:
        return Standing(state="outside", kind=kind, name=name)
    asked = SOURCES[kind]
    if any(source and name in source.running for source in map(jobs.said, asked)):
        return Standing(state="running", kind=kind, name=name)
    silent = next((m for m in map(jobs.unknown, asked) if m), None)
    if silent is None and jobs.said(asked[0]) is None:
        silent = Missing(what=asked[0], cause=Cause.STALE, detail=f"{asked[0]} was not asked")
    return Standing(state="unknown" if silent else "ended", kind=kind, name=name, missing=silent)


def _claim(holder: Holder, jobs: JobsOnNode) -> tuple[str, str]:
    """Return the kind and id of the owner: the cgroup's word first, then the environment's."""
    whose = holder.owner
    if whose.kind in SOURCES and (name := whose.job or whose.container):
        return whose.kind, name
    if holder.job and (jobs.said("slurm") or jobs.unknown("slurm")):
        return "slurm", holder.job
    if whose.kind == "user":
        return "user", f"{whose.unit} of uid {whose.uid}, no job"
    return whose.kind, f"{whose.unit}, no job" if whose.unit else "no job, container or session"


def job_of(holder: Holder, jobs: JobsOnNode | Missing) -> str | None:
    """Return the Slurm job of a process, None where it has none."""
    found = standing(holder, jobs)
    return found.name if found.kind == "slurm" else holder.job


def job_key(holder: Holder, jobs: JobsOnNode | Missing) -> tuple[str, str] | None:
    """Return the kind and id of the job or container of a process, None where it has neither.

    All containers of a pod are one: it is the pod that was given the GPU.
    """
    if job := job_of(holder, jobs):
        return "slurm", job
    whose = holder.owner
    if whose.kind not in SOURCES:
        return None
    if whose.pod:
        return "pod", whose.pod
    return (whose.kind, whose.container) if whose.container else None


def is_system(holder: Holder, known: Collection[str] = ()) -> bool:
    """Return whether *holder* is a service of the node, or one that the site named."""
    return holder.comm in SYSTEM or holder.comm in known


def on_gpu(gpu: Gpu, holders: Iterable[Holder]) -> tuple[Holder, ...]:
    """Return the holders that compute on *gpu*; by their open device where NVML lists none."""
    if gpu.processes is not None:
        pids = {process.pid for process in gpu.processes}
        return tuple(h for h in holders if h.pid in pids)
    return tuple(h for h in holders if gpu.minor is not None and gpu.minor in h.minors)


def computes(holder: Holder, gpus: GpuSnapshot | Missing) -> bool:
    """Return whether NVML lists *holder* as computing on some GPU."""
    known = () if isinstance(gpus, Missing) else gpus.gpus
    return any(p.pid == holder.pid for gpu in known for p in gpu.processes or ())


def near(gpu: Gpu, holder: Holder) -> bool:
    """Return whether *holder* computes on *gpu* or has its device open."""
    return bool(on_gpu(gpu, (holder,))) or (gpu.minor is not None and gpu.minor in holder.minors)


def process(holder: Holder, jobs: JobsOnNode | Missing) -> Subject:
    """Return the subject of a finding about *holder*."""
    return Subject(
        kind="process",
        name=str(holder.pid),
        pid=holder.pid,
        rank=holder.rank,
        job=job_of(holder, jobs),
    )


def named(gpu: Gpu) -> str:
    """Return a GPU as both nvidia-smi and lspci know it: `3 (0000:4e:00.0)`."""
    return f"{gpu.index} ({gpu.pci})" if gpu.pci else str(gpu.index)


def card(gpu: Gpu, job: str | None = None) -> Subject:
    """Return the subject of a finding about *gpu*; its index where it has no address."""
    return Subject(
        kind="gpu",
        name=gpu.pci or f"index {gpu.index}",
        uuid=gpu.uuid,
        serial=gpu.serial,
        index=gpu.index,
        job=job,
    )


def gpus_of(holder: Holder, gpus: GpuSnapshot | Missing) -> str:
    """Return the GPUs that *holder* computes on, else has open: `GPU 3 (0000:4e:00.0)`.

    Many a program opens every device it can see, and computes on one.
    """
    known = () if isinstance(gpus, Missing) else gpus.gpus
    busy = {g.minor for g in known if holder.pid in {p.pid for p in g.processes or ()}} - {None}
    by_minor = {gpu.minor: named(gpu) for gpu in known if gpu.minor is not None}
    minors = [minor for minor in holder.minors if minor in busy] or holder.minors
    names = [by_minor.get(minor) or f"/dev/nvidia{minor}" for minor in minors]
    if len(names) == 1:
        return f"GPU {names[0]}"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"GPUs {', '.join(names[:MOST_NAMED])}{more}"


def unreadable(gpus: GpuSnapshot) -> Statement | None:
    """Return what a check of GPUs says where NVML names none, None where it can judge."""
    if not gpus.loaded:
        return NotApplicable(why="no NVIDIA driver is loaded")
    if gpus.init_error is not None:
        detail = f"NVML did not start (code {gpus.init_error})"
        return Unseen(missing=Missing(what="NVML", cause=Cause.CRASHED, detail=detail))
    return None if gpus.gpus else NotApplicable(why="NVML lists no GPU")


def no_processes(gpus: Sequence[Gpu]) -> Missing:
    """Return that NVML does not list the processes of *gpus*."""
    detail = f"NVML lists no processes of {len(gpus)} GPUs (code {gpus[0].failed.get('processes')})"
    return Missing(what="compute processes", cause=Cause.CRASHED, detail=detail)


def no_memory(gpus: Sequence[Gpu]) -> Missing:
    """Return that NVML does not tell the memory of any of *gpus*."""
    return Missing(
        what="GPU memory",
        cause=Cause.CRASHED,
        detail=f"NVML tells the memory of none of {len(gpus)} GPUs",
    )


def partial(holders: GpuHolders) -> Statement | None:
    """Return that some processes could not be looked at, None where all were."""
    if not holders.unseen:
        return None
    detail = f"the open files of {holders.unseen} processes could not be read"
    return Unseen(missing=Missing(what="holders", cause=Cause.DENIED, detail=detail))
