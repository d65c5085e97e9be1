"""Who has a GPU open: each process with its job, container and rank."""

from collections.abc import Mapping

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import Held, HeldDevices, Owner, owner
from collectors.facts.wanted import Wanted
from collectors.host.processes import TICKS_S
from collectors.node.protocol import Node

MOST_ENVIRONS = 256


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """One process with an NVIDIA device open; `start_s` is seconds after boot.

    `minors` are the N of its /dev/nvidiaN, empty where it only has the control device open.
    `job` is the Slurm job of its cgroup, else the one its environment names (`job_by_environ`).
    """

    pid: int
    comm: str
    start_s: float
    uid: int | None = None
    minors: tuple[int, ...] = ()
    owner: Owner = Owner()
    job: str | None = None
    job_by_environ: bool = False
    rank: int | None = None
    fds: int = 0
    fd_limit: int | None = None
    environ: Mapping[str, str] = {}


class GpuHolders(Observation, frozen=True, kw_only=True):
    """All holders at one time; `devices` counts /dev/nvidiaN, and 0 means a node without GPU.

    `unseen` processes could not be looked at. `environ_missing` says why no environment is known.
    """

    devices: int
    holders: tuple[Holder, ...] = ()
    unseen: int = 0
    environ_missing: Missing | None = None


async def collect(node: Node, wanted: Wanted, held: HeldDevices | Missing) -> GpuHolders | Missing:
    """Ask for the environment of those who hold the devices."""
    del wanted
    if isinstance(held, Missing):
        return held
    environs = await _environs(node, held)
    known = {} if isinstance(environs, Missing) else environs
    return GpuHolders(
        devices=held.devices,
        holders=tuple(join(entry, known.get(str(entry.pid), {})) for entry in held.holders),
        unseen=held.unseen,
        environ_missing=environs if isinstance(environs, Missing) else None,
    )


async def _environs(node: Node, held: HeldDevices) -> dict[str, dict[str, str]] | Missing:
    pids = [entry.pid for entry in held.holders][:MOST_ENVIRONS]
    if not pids:
        return {}
    answer = await node.ask("environ", deadline_s=3.0, pids=pids)
    if isinstance(answer, Missing):
        return answer
    try:
        return msgspec.convert(answer, dict[str, dict[str, str]])
    except msgspec.ValidationError as problem:
        return Missing(what="environ", cause=Cause.GARBLED, detail=str(problem))


def join(entry: Held, environ: Mapping[str, str]) -> Holder:
    """Return the holder with its owner; the cgroup's word goes before the process's own."""
    whose = owner(entry.cgroup)
    claimed = _number(environ.get("SLURM_JOB_ID"))
    job = whose.job or (None if claimed is None else str(claimed))
    return Holder(
        pid=entry.pid,
        comm=entry.comm,
        start_s=entry.start_ticks / TICKS_S,
        uid=entry.uid,
        minors=tuple(sorted(m for path in entry.devices if (m := _minor(path)) is not None)),
        owner=whose,
        job=job,
        job_by_environ=job is not None and whose.job is None,
        rank=_number(environ.get("RANK")),
        fds=entry.fds,
        fd_limit=entry.fd_limit,
        environ=environ,
    )


def _minor(path: str) -> int | None:
    return _number(path.removeprefix("/dev/nvidia"))


def _number(text: str | None) -> int | None:
    # 10 digits: a job id, rank or minor is smaller, and int() of a long text is slow.
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) <= 10 else None  # noqa: PLR2004 - said above
