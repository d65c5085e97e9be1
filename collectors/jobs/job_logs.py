"""The logs of the jobs that run here, found by what their ranks have open as output."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.ranks import LocalRanks, Rank, job_of
from collectors.node.protocol import Node

MOST_LOGS = 32
DEADLINE_S = 5.0
# File systems that other nodes see too; of a log on one, the node of the lowest rank reads.
SHARED = frozenset(
    ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "wekafs", "cifs", "smb3", "fuse.glusterfs")
)


class JobLog(msgspec.Struct, frozen=True, kw_only=True):
    """One log: `pid` writes it as its stream 1 or 2, and is, or started, the rank `rank`.

    Of a pod, whose output the runtime writes, `pid` is its rank and `stream` 0. `size` in bytes
    and `time`, seconds since the epoch, are of its last growth. `elsewhere` is True where the node
    of a lower rank reads it.
    """

    pid: int
    stream: int
    path: str
    device: int
    inode: int
    size: int
    time: float
    job: str
    rank: int | None = None
    elsewhere: bool = False
    pod: str | None = None


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a log that begins at byte `start`; `next` is where to go on."""

    path: str
    text: str
    start: int
    next: int
    size: int


class JobLogs(Observation, frozen=True, kw_only=True):
    """The logs of this node's ranks, the lowest rank's first."""

    logs: tuple[JobLog, ...] = ()


class _PodEntry(msgspec.Struct, frozen=True):
    pod: str
    path: str
    device: int
    inode: int
    size: int
    time: float


class _Entry(msgspec.Struct, frozen=True):
    pid: int
    stream: int
    path: str
    device: int
    inode: int
    size: int
    time: float
    kind: str = ""


async def collect(node: Node, wanted: Wanted, ranks: LocalRanks | Missing) -> JobLogs | Missing:
    """Ask what ranks write, and those that started them: a batch script, srun, torchrun."""
    del wanted
    if isinstance(ranks, Missing):
        return ranks
    writers = _writers(ranks)
    if not writers:
        return JobLogs()
    answer = await node.ask("job_logs", deadline_s=DEADLINE_S, pids=list(writers))
    if isinstance(answer, Missing):
        return answer
    try:
        entries = msgspec.convert(answer, tuple[_Entry, ...])
    except msgspec.ValidationError as problem:
        return Missing(what="job_logs", cause=Cause.GARBLED, detail=str(problem)[:200])
    identity = await node.identity()
    found = (*_logs(entries, writers, identity.node), *await _of_pods(node, ranks))
    return JobLogs(logs=found[:MOST_LOGS])


def _writers(ranks: LocalRanks) -> dict[int, Rank]:
    """Return each process whose output may be a job's, with the lowest rank below it."""
    ordered = sorted(ranks.ranks, key=lambda one: (one.rank is None, one.rank or 0))
    writers = {rank.pid: rank for rank in ordered}
    for rank in ordered:
        for pid in rank.above:
            writers.setdefault(pid, rank)
    return dict(list(writers.items())[:512])


async def _of_pods(node: Node, ranks: LocalRanks) -> tuple[JobLog, ...]:
    """Return the logs of the pods that ranks run in; without the reader's word there are none."""
    pods = {rank.pod: rank for rank in reversed(ranks.ranks) if rank.pod is not None}
    if not pods:
        return ()
    answer = await node.ask("pod_logs", deadline_s=DEADLINE_S, pods=list(pods)[:64])
    try:
        entries = msgspec.convert(answer, tuple[_PodEntry, ...])
    except msgspec.ValidationError:
        return ()
    return tuple(
        JobLog(
            pid=rank.pid,
            stream=0,
            path=entry.path,
            device=entry.device,
            inode=entry.inode,
            size=entry.size,
            time=entry.time,
            job=job_of(rank),
            rank=rank.rank,
            pod=entry.pod,
        )
        for entry in entries
        if (rank := pods.get(entry.pod)) is not None
    )


def _logs(entries: Iterable[_Entry], writers: Mapping[int, Rank], host: str) -> Iterable[JobLog]:
    for entry in entries:
        if (rank := writers.get(entry.pid)) is None:
            continue
        yield JobLog(
            pid=entry.pid,
            stream=entry.stream,
            path=entry.path,
            device=entry.device,
            inode=entry.inode,
            size=entry.size,
            time=entry.time,
            job=job_of(rank),
            rank=rank.rank,
            elsewhere=entry.kind in SHARED and not _own(entry.path, rank.rank, host),
        )


def _own(path: str, rank: int | None, host: str) -> bool:
    """Return whether a log that all nodes see is this one's: the lowest rank's, or named for it."""
    name = path.rpartition("/")[2]
    numbers = {int(number) for number in re.findall(r"\d{1,9}", name)}
    return not rank or rank in numbers or host.partition(".")[0] in name


async def piece(node: Node, log: JobLog, start: int = -1) -> Piece | Missing:
    """Return up to 1 MiB of a log from *start* on, or its last MiB."""
    whose: dict[str, Any] = {"pid": log.pid, "stream": log.stream}
    kind = "job_log"
    if log.pod is not None:
        kind, whose = "pod_log", {"pod": log.pod}
    answer: Any = await node.ask(
        kind,
        deadline_s=DEADLINE_S,
        **whose,
        device=log.device,
        inode=log.inode,
        start=start,
    )
    if isinstance(answer, Missing):
        return Missing(what=log.path, cause=answer.cause, detail=answer.detail)
    try:
        return msgspec.convert(answer, Piece)
    except msgspec.ValidationError as problem:
        return Missing(what=log.path, cause=Cause.GARBLED, detail=str(problem)[:200])
