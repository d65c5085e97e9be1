"""The ranks of training jobs that run on this node, by their environment."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import Held, HeldDevices, owner
from collectors.facts.processes import Process, ProcessTable
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

MOST_RANKS = 256

# Without a GPU, ranks are sought among those whose name is an interpreter's or PyTorch's.
PYTHON = re.compile(r"python[\d.]*|pt_main_thread|pt_elastic\S*")


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """One process that is a rank of a job; `start_s` is seconds after boot.

    `job` is the scheduler's, `launcher` the process that started it. `gpus` are the N of its
    /dev/nvidiaN. `above` are the processes over it, the nearest first.
    """

    pid: int
    comm: str
    state: str
    start_s: float
    rank: int | None = None
    world: int | None = None
    job: str | None = None
    launcher: int | None = None
    gpus: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    pod: str | None = None
    environ: Mapping[str, str] = {}


class LocalRanks(Observation, frozen=True, kw_only=True):
    """The ranks of this node, by rank; processes that a rank started are none."""

    ranks: tuple[Rank, ...] = ()

    def jobs(self) -> dict[str, tuple[Rank, ...]]:
        """Return the ranks by job: by the scheduler's id, else by what started them."""
        found: dict[str, list[Rank]] = {}
        for rank in self.ranks:
            found.setdefault(job_of(rank), []).append(rank)
        return {name: tuple(ranks) for name, ranks in found.items()}


def job_of(rank: Rank) -> str:
    """Return what its job is called: `88123`, or `pid 4120` where no scheduler names it."""
    return rank.job or f"pid {rank.launcher or rank.pid}"


async def collect(
    node: Node, wanted: Wanted, processes: ProcessTable | Missing, holding: HeldDevices | Missing
) -> LocalRanks | Missing:
    """Ask for the environment of those who hold a GPU, else of what may be a rank."""
    del wanted
    if isinstance(processes, Missing):
        return processes
    if isinstance(holding, Missing):
        return holding
    table = {one.pid: one for one in processes.processes}
    held = {entry.pid: entry for entry in holding.holders}
    pids = list(held) if holding.devices else _likely(table)
    environs = await _environs(node, pids[:MOST_RANKS])
    if isinstance(environs, Missing):
        return environs
    return LocalRanks(ranks=joined(table, held, environs))


async def _environs(node: Node, pids: list[int]) -> dict[int, dict[str, str]] | Missing:
    if not pids:
        return {}
    answer = await node.ask("environ", deadline_s=3.0, pids=pids)
    if isinstance(answer, Missing):
        return answer
    try:
        return msgspec.convert(answer, dict[int, dict[str, str]], strict=False)
    except msgspec.ValidationError as problem:
        return Missing(what="environ", cause=Cause.GARBLED, detail=str(problem))


def _likely(table: Mapping[int, Process]) -> list[int]:
    return [pid for pid, seen in table.items() if PYTHON.fullmatch(seen.comm)]


def joined(
    table: Mapping[int, Process],
    held: Mapping[int, Held],
    environs: Mapping[int, Mapping[str, str]],
) -> tuple[Rank, ...]:
    """Return the ranks; a child that inherited its rank is a loader's or compiler's worker."""
    found = [
        _rank(pid, table[pid], table, held.get(pid), environ)
        for pid, environ in environs.items()
        if pid in table and "RANK" in environ and not _inherited(pid, table, environs)
    ]
    return tuple(sorted(found, key=lambda one: (one.job or "", one.rank or 0, one.pid)))


def _inherited(
    pid: int, table: Mapping[int, Process], environs: Mapping[int, Mapping[str, str]]
) -> bool:
    above = environs.get(table[pid].ppid, {})
    return all(above.get(name) == environs[pid].get(name) for name in ("RANK", "WORLD_SIZE"))


def _rank(
    pid: int,
    seen: Process,
    table: Mapping[int, Process],
    held: Held | None,
    environ: Mapping[str, str],
) -> Rank:
    whose = owner(held.cgroup) if held else None
    above = tuple(_above(pid, table))
    return Rank(
        pid=pid,
        comm=seen.comm,
        state=seen.state,
        start_s=seen.start_s,
        rank=number(environ.get("RANK")),
        world=number(environ.get("WORLD_SIZE")),
        job=(whose.job if whose else None) or _job(environ),
        launcher=above[0] if above else None,
        gpus=tuple(sorted(_minors(held.devices))) if held else (),
        above=above,
        pod=whose.pod if whose else None,
        environ=environ,
    )


def _above(pid: int, table: Mapping[int, Process]) -> Iterable[int]:
    """Yield parent, grandparent ... but for the first process of all."""
    for _ in range(16):
        if pid not in table or (pid := table[pid].ppid) <= 1:
            return
        yield pid


def _job(environ: Mapping[str, str]) -> str | None:
    job = number(environ.get("SLURM_JOB_ID"))
    return None if job is None else str(job)


def _minors(devices: Iterable[str]) -> list[int]:
    said = (number(path.removeprefix("/dev/nvidia")) for path in devices)
    return [minor for minor in said if minor is not None]


def number(text: Any) -> int | None:  # noqa: ANN401 - an environment's value, or none
    """Return the number of some digits, None for anything else."""
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal():
        return None
    return int(text) if len(text) <= 10 else None  # noqa: PLR2004 - job ids and ranks have fewer
