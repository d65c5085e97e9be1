"""The jobs and containers that run here, by the word of the scheduler and of each runtime."""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal

import msgspec

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import Held, HeldDevices, Owner, owner
from collectors.facts.processes import ProcessTable
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

SourceName = Literal["slurm", "kubernetes", "docker", "podman"]

DEADLINE_S = 4.0

# The process whose presence says that a source can be asked; comm is cut at 15 letters.
DAEMONS: dict[str, SourceName] = {
    "slurmd": "slurm",
    "slurmstepd": "slurm",
    "kubelet": "kubernetes",
    "dockerd": "docker",
}

# PID      JOBID    STEPID   LOCALID GLOBALID
# 218734   88123    batch    0       0
# 218741   88123    0        -       -
LISTED = re.compile(r"(\d{1,10})\s+(\d{1,10})\s+(\S{1,64})\s+\S+\s+\S+\s*")
HEADER = re.compile(r"PID\s+JOBID\s+STEPID\b")
NONE_HERE = "No job steps exist on this node."

CONTAINER = re.compile(r"[0-9a-f]{64}")


class JobProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process that Slurm counts to a step of a job."""

    pid: int
    job: str
    step: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What one source says: ids of all jobs with a step here, or of all running containers."""

    name: SourceName
    running: tuple[str, ...] = ()
    processes: tuple[JobProcess, ...] = ()


class JobsOnNode(Observation, frozen=True, kw_only=True):
    """The sources that answered, and those that did not (`what` is their name).

    One that is in neither is not used on this node. `still_holding` are pids that had a GPU open
    before and after the answers, asked only where a holder's owner is in none of them.
    """

    sources: tuple[Source, ...] = ()
    silent: tuple[Missing, ...] = ()
    still_holding: tuple[int, ...] = ()

    def said(self, name: str) -> Source | None:
        """Return what the source of that name said."""
        return next((source for source in self.sources if source.name == name), None)

    def unknown(self, name: str) -> Missing | None:
        """Return why the source of that name said nothing, None where it spoke or is not used."""
        return next((missing for missing in self.silent if missing.what == name), None)


async def collect(
    node: Node, wanted: Wanted, table: ProcessTable | Missing, holding: HeldDevices | Missing
) -> JobsOnNode | Missing:
    """Ask the sources that are used here; twice where an owner is in no answer.

    A job that ends while we look, and its processes with it, would otherwise read as an orphan's.
    """
    if isinstance(table, Missing):
        return table
    daemons = {DAEMONS[one.comm] for one in table.processes if one.comm in DAEMONS}
    # None where that cannot be seen: GpuHolders tells why.
    held = () if isinstance(holding, Missing) else holding.holders
    claimed = {kind for kind, _ in _claims(held)}
    used = [name for name in ASK if name in claimed or name in daemons]
    first = await _ask(node, used, daemons)
    if not _unanswered(held, first):
        return first
    await node.sleep(wanted.sample_s)
    second = await _ask(node, used, daemons)
    still = {(entry.pid, entry.start_ticks) for entry in await _held(node)}
    return JobsOnNode(
        sources=_both(first.sources, second.sources),
        silent=(*first.silent, *(m for m in second.silent if first.unknown(m.what) is None)),
        still_holding=tuple(e.pid for e in held if (e.pid, e.start_ticks) in still),
    )


async def _held(node: Node) -> tuple[Held, ...]:
    """Return who has a GPU open now."""
    answer = await node.ask("holders", deadline_s=5.0)
    if isinstance(answer, Missing):
        return ()
    try:
        return msgspec.convert(answer, HeldDevices).holders
    except msgspec.ValidationError:
        return ()


def _claims(held: Iterable[Held]) -> set[tuple[str, str]]:
    """Return (source, id) of each owner that the holders' cgroups name."""
    owners = [owner(entry.cgroup) for entry in held]
    return {(o.kind, o.job or o.container or "") for o in owners if o.kind in ASK}


def _unanswered(held: Iterable[Held], jobs: JobsOnNode) -> bool:
    """Return whether some holder is nobody's by the answers, a service's of the node apart."""
    known = {(source.name, name) for source in jobs.sources for name in source.running}
    listed = {entry.pid for source in jobs.sources for entry in source.processes}
    outside = any(_outside(owner(entry.cgroup)) for entry in held if entry.pid not in listed)
    return bool(_claims(held) - known) or (outside and jobs.said("slurm") is not None)


def _outside(whose: Owner) -> bool:
    # Where Slurm tracks processes without cgroups, those of a job sit in the unit of slurmd.
    return whose.kind in ("user", "none") or whose.unit == "slurmd.service"


async def _ask(node: Node, used: list[SourceName], daemons: set[SourceName]) -> JobsOnNode:
    """Ask one after the other: each answers from its own socket within milliseconds."""
    answers = [await ASK[name](node, name in daemons) for name in used]
    return JobsOnNode(
        sources=tuple(a for a in answers if isinstance(a, Source)),
        silent=tuple(a for a in answers if isinstance(a, Missing)),
    )


def _both(first: tuple[Source, ...], second: tuple[Source, ...]) -> tuple[Source, ...]:
    """Return the sources that answered both times; what either answer holds was running."""
    later = {source.name: source for source in second}
    return tuple(
        Source(
            name=source.name,
            running=tuple(dict.fromkeys((*source.running, *later[source.name].running))),
            processes=tuple(dict.fromkeys((*source.processes, *later[source.name].processes))),
        )
        for source in first
        if source.name in later
    )


async def _slurm(node: Node, daemon: bool) -> Source | Missing:  # noqa: FBT001 - as in the table ASK
    # It asks the slurmstepd of each step over its socket on this node, not the controller.
    got = await node.command("scontrol", "listpids", deadline_s=DEADLINE_S)
    if isinstance(got, Missing):
        return _silent("slurm", got.cause, got.detail)
    return listpids(got, daemon=daemon)


def listpids(got: Output, *, daemon: bool) -> Source | Missing:
    """Return the jobs of `scontrol listpids`.

    It leaves with 1 and one line on standard error where there is no step. It says the same where
    it could not look (no configuration, another host name, a folder it may not enter), but with
    an error line before: that is no word about jobs, and neither is it without a slurmd.
    """
    lines = got.stdout.splitlines()
    told = [line for line in got.stderr.splitlines() if line.strip() and line.strip() != NONE_HERE]
    if told:
        return _silent("slurm", Cause.CRASHED, f"scontrol: {told[0][:200]}")
    if not any(HEADER.match(line) for line in lines):
        return _silent("slurm", Cause.GARBLED, "scontrol listpids printed no table")
    hits = [hit for line in lines if (hit := LISTED.fullmatch(line))]
    found = tuple(JobProcess(pid=int(h[1]), job=h[2], step=h[3]) for h in hits)
    if not found and not daemon:
        return _silent("slurm", Cause.STALE, "slurmd does not run on this node")
    return Source(name="slurm", running=tuple(dict.fromkeys(p.job for p in found)), processes=found)


def _runtime(name: SourceName, tool: str) -> Callable[[Node, bool], Awaitable[Source | Missing]]:
    async def ask(node: Node, daemon: bool) -> Source | Missing:  # noqa: FBT001 - as in the table ASK
        del daemon
        got = await node.command(tool, "ps", "-q", "--no-trunc", deadline_s=DEADLINE_S)
        if isinstance(got, Missing):
            return _silent(name, got.cause, got.detail)
        return containers(name, got)

    return ask


def containers(name: SourceName, got: Output) -> Source | Missing:
    """Return the running containers of `ps -q --no-trunc`; a failed call is no word about them."""
    if got.status:
        said = (got.stderr.strip() or f"exit status {got.status}").splitlines()[-1][:200]
        denied = "permission denied" in got.stderr.lower()
        return _silent(name, Cause.DENIED if denied else Cause.CRASHED, said)
    lines = [line.strip() for line in got.stdout.splitlines() if line.strip()]
    if odd := [line for line in lines if not CONTAINER.fullmatch(line)]:
        return _silent(name, Cause.GARBLED, f"not a container id: {odd[0][:80]!r}")
    return Source(name=name, running=tuple(lines))


def _silent(name: SourceName, cause: Cause, detail: str) -> Missing:
    return Missing(what=name, cause=cause, detail=detail)


ASK: dict[SourceName, Callable[[Node, bool], Awaitable[Source | Missing]]] = {
    "slurm": _slurm,
    "kubernetes": _runtime("kubernetes", "crictl"),
    "docker": _runtime("docker", "docker"),
    "podman": _runtime("podman", "podman"),
}
