"""Processes in uninterruptible sleep past the limit: seen in /proc, or by the kernel's own word."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec

from collectors.facts.kernel_log import KernelLog, Record
from collectors.facts.observation import Missing
from collectors.facts.processes import Process, ProcessTable
from collectors.facts.subject import Subject
from collectors.host.blocked import BlockedTasks, Task
from collectors.host.holders import GpuHolders, Holder
from diagnostics.check import Limits, check
from diagnostics.finding import Evidence, Finding, Statement, Unseen, Well, found

# INFO: task python:218734 blocked for more than 122 seconds.
HUNG = re.compile(
    r"INFO: task (?P<comm>.{1,64}):(?P<pid>\d{1,10}) blocked for more than (?P<s>\d{1,9}) seconds"
)

# A container that was paused stands here under cgroup v1: on purpose, and it ends when resumed.
FROZEN = "__refrigerator"

BLOCKED = "{comm} (pid {pid}{job}) has slept uninterruptibly for at least {still} s{place}"
SAID = "{age} s ago the kernel said that {comm} (task {pid}) had been blocked for over {still} s"
MOVED = "{comm} (pid {pid}) was blocked for over {still} s, {age} s ago, and has gone on since"
SHOWN_FRAMES = 3


class BlockedLimits(Limits, frozen=True, kw_only=True):
    """How long a sleep may last, and which kernel line counts as of now."""

    blocked_s: Annotated[
        float, msgspec.Meta(ge=0, description="seconds of uninterruptible sleep")
    ] = 60.0
    recent_s: Annotated[
        float,
        msgspec.Meta(ge=0, description="age in seconds up to which a kernel line is of now"),
    ] = 300.0


class Hung(msgspec.Struct, frozen=True, kw_only=True):
    """The last kernel line about one task."""

    record: Record
    comm: str
    seconds: float


@check("processes.blocked", stage="processes", faults=("task_blocked_d_state",), proved="real-tool")
def blocked(
    tasks: BlockedTasks,
    table: ProcessTable,
    log: KernelLog | Missing,
    holders: GpuHolders | Missing,
    limits: BlockedLimits,
) -> Iterator[Statement]:
    """No process sleeps uninterruptibly for longer than the limit.

    It takes no signal, so its job can be neither ended nor restarted; what it waits for (a driver
    call, a disk, a file server) is what is broken. Kernel threads are left out: they idle so.
    """
    lines = {} if isinstance(log, Missing) else hung_tasks(log)
    asleep = {task.pid: task for task in tasks.tasks if task.state == "D" and task.wchan != FROZEN}
    known = {} if isinstance(holders, Missing) else {h.pid: h for h in holders.holders}
    named = {process.pid: process for process in table.processes}
    findings = [
        _asleep(t, lines.get(pid), known.get(pid))
        for pid, t in asleep.items()
        if t.still_s >= limits.blocked_s or _same(lines.get(pid), t.comm)
    ]
    findings += [
        _told(pid, line, named.get(pid), table.uptime_s, limits)
        for pid, line in lines.items()
        if pid not in asleep and not _kernel(pid, named)
    ]
    yield from findings
    if isinstance(log, Missing):
        yield Unseen(missing=log)
    if findings and tasks.places_missing is not None:
        yield Unseen(missing=tasks.places_missing)
    if not findings:
        yield Well(message=f"none of {len(table.processes)} processes sleeps uninterruptibly")


def hung_tasks(log: KernelLog) -> dict[int, Hung]:
    """Return the last hung-task line of each task; a line that a program wrote is none."""
    found = {}
    for record in log.records:
        hit = HUNG.search(record.text) if record.facility == 0 else None
        if hit is not None:
            seconds = float(hit["s"])
            found[int(hit["pid"])] = Hung(record=record, comm=hit["comm"], seconds=seconds)
    return found


def _kernel(pid: int, named: Mapping[int, Process]) -> bool:
    return pid in named and named[pid].kernel


def _same(line: Hung | None, comm: str) -> bool:
    return line is not None and line.comm == comm


def _asleep(task: Task, line: Hung | None, holder: Holder | None) -> Finding:
    job = task.owner.job or (holder.job if holder else None)
    told = line if _same(line, task.comm) else None
    place = f", in {task.wchan}" if task.wchan else ""
    return found(
        "task_blocked_d_state",
        "warning",
        Subject(
            kind="process",
            name=str(task.pid),
            pid=task.pid,
            job=job,
            rank=holder.rank if holder else None,
        ),
        BLOCKED,
        Evidence(
            source=f"/proc/{task.pid}/stat",
            values={"state": "D", "wchan": task.wchan, "stack": task.stack[:SHOWN_FRAMES]},
        ),
        *(_line(told) if told else ()),
        comm=task.comm,
        pid=task.pid,
        job=_whose(job, holder),
        still=round(max(task.still_s, told.seconds if told else 0.0)),
        place=place,
    )


def _whose(job: str | None, holder: Holder | None) -> str:
    if job is None:
        return ""
    return (
        f", job {job}"
        if holder is None or holder.rank is None
        else (f", rank {holder.rank} of job {job}")
    )


def _told(
    pid: int, line: Hung, process: Process | None, uptime_s: float, limits: BlockedLimits
) -> Finding:
    """Return what the kernel said of a task that is not seen asleep now: a thread, or one gone on.

    The kernel repeats its line every two minutes for as long as the task is blocked.
    """
    age = max(uptime_s - line.record.boot_s, 0.0)
    moved = process is not None and process.comm == line.comm
    return found(
        "task_blocked_d_state",
        "warning" if age <= limits.recent_s and not moved else "info",
        Subject(kind="process", name=str(pid), pid=pid),
        MOVED if moved else SAID,
        *_line(line),
        kind="event",
        variant="moved" if moved else "told",
        comm=line.comm,
        pid=pid,
        still=round(line.seconds),
        age=round(age),
    )


def _line(line: Hung) -> tuple[Evidence, ...]:
    values = {"sequence": line.record.sequence, "boot_s": line.record.boot_s}
    return (Evidence(source="kmsg", text=line.record.text, values=values),)
