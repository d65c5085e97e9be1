"""Dead processes of a GPU job that their parent does not reap."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.processes import ProcessTable
from collectors.facts.subject import Subject
from collectors.host.blocked import BlockedTasks, Task
from collectors.host.holders import GpuHolders
from collectors.jobs.running import JobsOnNode
from diagnostics.check import Limits, check
from diagnostics.checks.processes import ownership
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

ZOMBIE = (
    "{comm} (pid {pid}, {owner}) has been dead for at least {still} s, "
    "and its parent {parent} (pid {ppid}) does not reap it"
)


class ZombieLimits(Limits, frozen=True, kw_only=True):
    """How long a parent may take."""

    dead_s: Annotated[
        float, msgspec.Meta(ge=0, description="seconds after which an unreaped process counts")
    ] = 60.0


@check("processes.zombie", stage="processes", faults=("gpu_process_zombie",), proved="real-tool")
def zombie(
    tasks: BlockedTasks,
    holders: GpuHolders,
    jobs: JobsOnNode | Missing,
    table: ProcessTable,
    limits: ZombieLimits,
) -> Iterator[Statement]:
    """Every process of a GPU job that ends is reaped by its parent.

    A launcher that does not collect a dead rank has not seen it end, and the other ranks wait in
    their collectives. Helpers that a rank started and forgot are harmless: a note.
    """
    if not holders.devices:
        yield NotApplicable(why=ownership.NO_GPU)
        return
    dead = [task for task in tasks.tasks if task.state == "Z" and task.still_s >= limits.dead_s]
    if dead and (missing := ownership.partial(holders)):
        yield missing
    comms = {process.pid: process.comm for process in table.processes}
    found_any = False
    for task in dead:
        if (owner := _owner(task, holders, jobs)) is not None:
            found_any = True
            yield _found(task, owner, comms.get(task.ppid, "?"), holders)
    if not found_any:
        yield Well(message="no process of a GPU job is dead and left unreaped")


def _owner(
    task: Task, holders: GpuHolders, jobs: JobsOnNode | Missing
) -> tuple[str, str | None] | None:
    """Return the words for the GPU job of a dead task and the job's id; None if it is of none.

    With cgroup v1 a dead task is back in the root, so its parent speaks for it.
    """
    parent = next((h for h in holders.holders if h.pid == task.ppid), None)
    if parent is not None and not ownership.is_system(parent):
        job = ownership.job_of(parent, jobs)
        return (f"job {job}" if job else "child of a GPU process", job)
    slurm = None if isinstance(jobs, Missing) else jobs.said("slurm")
    listed = {entry.pid: entry.job for entry in slurm.processes} if slurm else {}
    job = task.owner.job or listed.get(task.ppid)
    if job is not None and job in {ownership.job_of(h, jobs) for h in holders.holders}:
        return f"job {job}", job
    boxes = {h.owner.container for h in holders.holders} - {None}
    if task.owner.container in boxes:
        return f"container {str(task.owner.container)[: ownership.SHORT_ID]}", None
    return None


def _found(task: Task, owner: tuple[str, str | None], parent: str, holders: GpuHolders) -> Finding:
    # One with threads left is a rank that the kernel still holds; one named as the ranks was one.
    ranks = {h.comm for h in holders.holders if not ownership.is_system(h)}
    grave = task.comm in ranks or task.threads > 1
    words, job = owner
    return found(
        "gpu_process_zombie",
        "warning" if grave else "info",
        Subject(kind="process", name=str(task.pid), pid=task.pid, job=job),
        ZOMBIE,
        Evidence(
            source=f"/proc/{task.pid}/stat",
            values={"state": "Z", "ppid": task.ppid, "threads": task.threads},
        ),
        comm=task.comm,
        pid=task.pid,
        owner=words,
        still=round(task.still_s),
        parent=parent,
        ppid=task.ppid,
    )
