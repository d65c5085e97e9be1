"""Tasks that do not go on: asleep in the kernel (D) or dead and not reaped (Z); for how long."""

import re
from collections.abc import Iterable, Mapping
from heapq import nlargest

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import Owner, owner
from collectors.facts.processes import Process, ProcessTable
from collectors.facts.wanted import Wanted
from collectors.host.processes import parse
from collectors.node.protocol import Node

MOST_TASKS = 64
# Of a processor's tasks, those that run the most tell its clock; some thousands need not be read.
MOST_BESIDE = 32

# From /proc/PID/sched "se.exec_start                                :       1133177.709107"
EXEC_START = re.compile(r"^se\.exec_start\s*:\s*(\d{1,15}\.\d{1,9})\s*$", re.MULTILINE)
# In nanoseconds, "se.avg.last_update_time    :    4368168255488"
LAST_UPDATE = re.compile(r"^se\.avg\.last_update_time\s*:\s*(\d{1,20})\s*$", re.MULTILINE)
# From /proc/PID/status "voluntary_ctxt_switches:\t1"
SWITCHES = re.compile(r"^voluntary_ctxt_switches:\s*(\d{1,20})\s*$", re.MULTILINE)
# Field 39 of stat is the processor on which the task ran last: the 36th after the name and state.
PROCESSOR = 36


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task that stood still over both samples; `still_s` is at least how long.

    `wchan` is the kernel function in which it waits, `stack` the functions above it.
    """

    pid: int
    comm: str
    state: str
    ppid: int
    still_s: float
    owner: Owner = Owner()
    threads: int = 1
    wchan: str | None = None
    stack: tuple[str, ...] = ()


class BlockedTasks(Observation, frozen=True, kw_only=True):
    """Tasks that stood still, but for kernel threads.

    `places_missing` says why no wchan is known.
    """

    tasks: tuple[Task, ...]
    places_missing: Missing | None = None


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's answer to `blocked` for one task."""

    wchan: str | None = None
    stack: tuple[str, ...] = ()


async def collect(
    node: Node, wanted: Wanted, table: ProcessTable | Missing
) -> BlockedTasks | Missing:
    """Look twice; of those that did not move, ask how long already and where they wait."""
    if isinstance(table, Missing):
        return table
    suspects = [p for p in table.processes if not p.kernel and p.state in "DZ"][:MOST_TASKS]
    if not suspects:
        return BlockedTasks(tasks=())
    before = await node.files(*_of(suspects, "status"))
    if isinstance(before, Missing):
        return before
    await node.sleep(wanted.sample_s)
    after = await node.files(*_of(suspects, "stat"), *_of(suspects, "status"))
    if isinstance(after, Missing):
        return after
    still = [task for task in suspects if _unmoved(task, before, after)]
    if not still:
        return BlockedTasks(tasks=())
    return await _placed(node, still, _beside(still, table), wanted.sample_s)


def _beside(still: Iterable[Process], table: ProcessTable) -> list[Process]:
    """Return the tasks by whose runs the clocks of the processors are told."""
    places = {task.processor for task in still}
    on = ([p for p in table.processes if p.processor == place] for place in places)
    return [p for one in on for p in nlargest(MOST_BESIDE, one, key=lambda p: p.ran_s)]


async def _placed(
    node: Node, still: list[Process], beside: list[Process], watched_s: float
) -> BlockedTasks | Missing:
    """Return the tasks with how long they have stood still, and where."""
    clocks = {p.pid: p for p in (*still, *beside)}.values()
    seen = await node.files(*_of(clocks, "stat"), *_of(clocks, "sched"), *_of(still, "cgroup"))
    if isinstance(seen, Missing):
        return seen
    places = await _places(node, still)
    known = {} if isinstance(places, Missing) else places
    return BlockedTasks(
        tasks=tuple(_task(task, seen, known, watched_s) for task in still),
        places_missing=places if isinstance(places, Missing) else None,
    )


def _of(tasks: Iterable[Process], name: str) -> list[str]:
    return [f"/proc/{task.pid}/{name}" for task in tasks]


def _unmoved(task: Process, before: Files, after: Files) -> bool:
    """Return whether it is the same process in the same state, and did not run in between."""
    path = f"/proc/{task.pid}/status"
    now = parse(after.get(f"/proc/{task.pid}/stat") or "")
    same = now is not None and (now.start_s, now.state) == (task.start_s, task.state)
    counts = [SWITCHES.search(seen.get(path) or "") for seen in (before, after)]
    moved = task.state == "D" and len({hit[1] if hit else None for hit in counts}) > 1
    return same and not moved


async def _places(node: Node, still: list[Process]) -> dict[int, Places] | Missing:
    pids = [task.pid for task in still if task.state == "D"]
    if not pids:
        return {}
    answer = await node.ask("blocked", deadline_s=2.0, pids=pids)
    if isinstance(answer, Missing):
        return answer
    try:
        return msgspec.convert(answer, dict[int, Places], strict=False)
    except msgspec.ValidationError as problem:
        return Missing(what="blocked", cause=Cause.GARBLED, detail=str(problem))


def _task(task: Process, seen: Files, places: dict[int, Places], watched_s: float) -> Task:
    place = places.get(task.pid, Places())
    return Task(
        pid=task.pid,
        comm=task.comm,
        state=task.state,
        ppid=task.ppid,
        still_s=max(watched_s, stood_still_s(task.pid, seen)),
        owner=owner(seen.get(f"/proc/{task.pid}/cgroup") or ""),
        threads=_threads(seen.get(f"/proc/{task.pid}/stat") or ""),
        wchan=place.wchan,
        stack=place.stack,
    )


def stood_still_s(pid: int, seen: Files, *, by_load: bool = False) -> float:
    """Return for how long a task has at least not run, 0 where its scheduler file is not to be had.

    `se.exec_start` is the time of its last run on the clock of its processor. That clock leaves
    out interrupts and stolen time and may be hours behind /proc/uptime, so it is compared with the
    latest run of any task on the same processor. Where it is 0, *by_load* believes the clock of the
    task's load, beside that of the others: it leaves out, too, what its cgroup was throttled, so
    that it may tell too much, and another source has to agree.
    """
    for clock in (_ran, _updated) if by_load else (_ran,):
        runs = {
            int(g[0]): at for g, text in seen.match("/proc/[0-9]*/sched") if (at := clock(text))
        }
        if pid in runs:
            return _behind(pid, runs, seen)
    return 0.0


def _behind(pid: int, runs: Mapping[int, float], seen: Files) -> float:
    place = _processor(seen.get(f"/proc/{pid}/stat") or "")
    if place is None:
        return 0.0
    stats = ((int(g[0]), text) for g, text in seen.match("/proc/[0-9]*/stat"))
    beside = [runs[other] for other, text in stats if other in runs and _processor(text) == place]
    return max((run - runs[pid] for run in beside), default=0.0)


def _ran(sched: str) -> float | None:
    hit = EXEC_START.search(sched)
    # 0: moved to another processor, and has not run there yet. From Linux 6.12 on it may have gone
    # to sleep before (delayed dequeue), and then it stays 0 for as long as it sleeps.
    return float(hit[1]) / 1000 or None if hit else None


def _updated(sched: str) -> float | None:
    """Return when its load was last brought up to date, which each run and each move does."""
    hit = LAST_UPDATE.search(sched)
    return int(hit[1]) / 1e9 or None if hit else None


def _fields(stat: str) -> list[str]:
    return stat.rpartition(") ")[2].split()


def _processor(stat: str) -> int | None:
    fields = _fields(stat)
    ok = len(fields) > PROCESSOR and fields[PROCESSOR].isdecimal()
    return int(fields[PROCESSOR]) if ok else None


def _threads(stat: str) -> int:
    # Field 20 of stat; a zombie with more than one still has a thread in the kernel.
    fields = _fields(stat)
    return int(fields[17]) if len(fields) > PROCESSOR and fields[17].isdecimal() else 1
