"""Tasks that stand still: told from those that only look so, with how long and where."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing
from collectors.facts.owner import Owner
from collectors.facts.wanted import Wanted
from collectors.host import processes
from collectors.host.blocked import MOST_BESIDE, BlockedTasks, Task, collect, stood_still_s
from collectors.node.live import Live
from collectors.node.protocol import Node
from collectors.node.recorded import Recorded
from tests.recording import recorded, write

CGROUP = "0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_3\n"


def stat(pid: int, state: str, cpu: int = 0, threads: int = 1, flags: int = 0) -> str:
    """Return a stat line; the state, flags, threads, start and processor in it count."""
    middle = f"4100 4100 0 -1 {flags} 0 0 0 0 9 4 0 0 20 0 {threads} 0 81300"
    return f"{pid} (python) {state} 4000 {middle} {' '.join(['0'] * 16)} {cpu} 0 0 0 0 0\n"


def sched(ran_ms: float) -> str:
    return f"python (4100, #threads: 1)\n---\nse.exec_start          :   {ran_ms:.6f}\n"


def of(
    pid: int, state: str, switches: int = 7, ran_ms: float | None = None, **more: int
) -> dict[str, str]:
    """Return the files of one process."""
    folder = f"/proc/{pid}"
    files = {
        "/proc/uptime": "1400.21 90.00\n",
        f"{folder}/stat": stat(pid, state, **more),
        f"{folder}/status": f"Name:\tpython\nvoluntary_ctxt_switches:\t{switches}\n",
        f"{folder}/cgroup": CGROUP,
    }
    return files if ran_ms is None else files | {f"{folder}/sched": sched(ran_ms)}


PLACE = {"kind": "blocked", "args": {"pids": [4100]}}
STOOD = {"4100": {"wchan": "os_acquire_rwlock_read", "stack": ["down_read"]}}


async def seen(node: Node, wanted: Wanted) -> BlockedTasks | Missing:
    """Look as a walk does: at all processes first."""
    return await collect(node, wanted, await processes.collect(node, wanted))


class Counted(Recorded):
    """Counts the scheduler's files that are read."""

    scheds = 0

    async def files(self, *patterns: str, **more: Any) -> Files | Missing:
        self.scheds += sum(pattern.endswith("/sched") for pattern in patterns)
        return await super().files(*patterns, **more)


def look(folder: Path) -> BlockedTasks | Missing:
    return asyncio.run(seen(Recorded(folder), Wanted()))


def test_how_long_is_counted_on_the_clock_of_its_processor(tmp_path: Path) -> None:
    """That clock lags behind uptime: the latest run of a task beside it is what it is held to."""
    files = (
        of(4100, "D", ran_ms=1_000_000, cpu=3)
        | of(88, "S", ran_ms=1_312_000, cpu=3)
        | of(99, "S", ran_ms=9_999_000, cpu=4)
    )
    write(tmp_path, files=files, answers=[{**PLACE, "answer": STOOD}])

    expected = BlockedTasks(
        tasks=(
            Task(
                pid=4100,
                comm="python",
                state="D",
                ppid=4000,
                still_s=312.0,
                owner=Owner(kind="slurm", job="88123", step="0"),
                wchan="os_acquire_rwlock_read",
                stack=("down_read",),
            ),
        )
    )
    assert expected == look(tmp_path)


def test_the_clock_is_told_by_those_that_run_most(tmp_path: Path) -> None:
    """Of many tasks on a processor a few are read, and the busy one is among them."""
    files = of(4100, "D", ran_ms=1_000_000)
    for pid in range(5000, 5000 + 4 * MOST_BESIDE):
        files |= of(pid, "S", ran_ms=1_000_500)
    files |= of(9000, "S", ran_ms=1_090_000)
    files["/proc/9000/stat"] = files["/proc/9000/stat"].replace(" 9 4 0 0 20", " 7200 40 0 0 20")
    write(tmp_path, files=files, answers=[{**PLACE, "answer": STOOD}])
    asked = Counted(tmp_path)
    got = asyncio.run(seen(asked, Wanted()))

    assert isinstance(got, BlockedTasks)
    assert ([90.0], MOST_BESIDE) == ([task.still_s for task in got.tasks], asked.scheds)


def test_without_the_scheduler_file_only_the_time_watched_is_known(tmp_path: Path) -> None:
    """A kernel without /proc/PID/sched gives no age: one second watched is one second."""
    write(tmp_path, files=of(4100, "D"), answers=[{**PLACE, "answer": STOOD}])
    got = look(tmp_path)

    assert isinstance(got, BlockedTasks)
    assert [1.0] == [task.still_s for task in got.tasks]


def test_one_that_ran_in_between_is_not_still(tmp_path: Path) -> None:
    """Seen asleep twice, but it was awake between: a disk that is busy, no fault."""
    write(tmp_path, files=of(4100, "D", switches=7))
    write(tmp_path / "at" / "0.5", files=of(4100, "D", switches=8))

    assert BlockedTasks(tasks=()) == look(tmp_path)


def test_kernel_threads_and_sleepers_are_left_out(tmp_path: Path) -> None:
    """A kernel thread idles uninterruptibly; a sleeper is just a sleeper."""
    write(tmp_path, files=of(88, "D", flags=0x00200000) | of(4100, "S") | of(4200, "R"))

    assert BlockedTasks(tasks=()) == look(tmp_path)


def test_a_dead_one_with_a_thread_left_is_told_so(tmp_path: Path) -> None:
    """The kernel still holds one of its threads; where it waits is not asked of the dead."""
    write(tmp_path, files=of(4100, "Z", threads=2, ran_ms=1000) | of(88, "S", ran_ms=91_000))
    got = look(tmp_path)

    assert isinstance(got, BlockedTasks)
    assert [("Z", 2, 90.0)] == [(t.state, t.threads, t.still_s) for t in got.tasks]


def test_without_rights_the_place_is_unknown_and_the_task_is_not(tmp_path: Path) -> None:
    """That it stands still is seen by anyone; where, by root."""
    denied = {"cause": "denied", "detail": "only root sees this", "verb": "blocked"}
    write(tmp_path, files=of(4100, "D"), answers=[{**PLACE, "missing": denied}])
    got = look(tmp_path)

    assert isinstance(got, BlockedTasks)
    expected = Missing(
        what="blocked", cause=Cause.DENIED, detail="only root sees this", verb="blocked"
    )
    assert ([4100], expected) == ([task.pid for task in got.tasks], got.places_missing)


def test_what_was_not_recorded_is_missing(tmp_path: Path) -> None:
    """A recording without /proc says nothing about it."""
    node = recorded(tmp_path, paths=["/sys"])

    got = asyncio.run(seen(node, Wanted()))
    assert isinstance(got, Missing)
    assert got.cause is Cause.NOT_RECORDED


@given(st.text(), st.text())
def test_no_text_of_the_scheduler_breaks_it(one: str, two: str) -> None:
    """Whatever stands in the files, the answer is a number of seconds."""
    texts = {
        "/proc/1/sched": one,
        "/proc/1/stat": two,
        "/proc/2/sched": sched(1.0),
        "/proc/2/stat": one,
    }

    assert stood_still_s(1, Files(texts=texts), by_load=True) >= 0


@pytest.mark.parametrize(("updated_s", "still_s"), [(910.25, 90.0), (0.0, 0.0)])
def test_one_that_was_moved_as_it_fell_asleep_has_stood_still_since(
    updated_s: float, still_s: float
) -> None:
    """Its last run is told as 0 then, for as long as it sleeps: its load's clock says how long."""
    load = "se.avg.last_update_time   :   {:.0f}\n"
    texts = {
        "/proc/1/stat": stat(1, "S", cpu=1),
        "/proc/1/sched": sched(0.0) + load.format(updated_s * 1e9),
        "/proc/2/stat": stat(2, "R", cpu=1),
        "/proc/2/sched": sched(999_000.0) + load.format(1_000.25e9),
        # Another processor has other clocks.
        "/proc/3/stat": stat(3, "R", cpu=0),
        "/proc/3/sched": sched(999_999.0) + load.format(4_000e9),
    }

    seen = Files(texts=texts)
    assert (0.0, still_s) == (stood_still_s(1, seen), stood_still_s(1, seen, by_load=True))


# The child of a posix_spawn() waits to open a FIFO before its exec, and the parent for the child:
# uninterruptibly, in the kernel, and yet both end when somebody opens the FIFO.
SPAWN = """
import os, sys
action = (os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[action])
"""


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator[int]:
    """Return the pid of a process in uninterruptible sleep."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen((sys.executable, "-c", SPAWN, str(fifo))) as process:
        path = Path(f"/proc/{process.pid}/stat")
        while path.read_text().rpartition(") ")[2][0] != "D":
            pass
        yield process.pid
        os.close(os.open(fifo, os.O_WRONLY))


def here() -> BlockedTasks | Missing:
    """Look at this machine."""

    async def run() -> BlockedTasks | Missing:
        node = Live()
        try:
            return await seen(node, Wanted(sample_s=0.3))
        finally:
            await node.close()

    return asyncio.run(run())


@pytest.mark.root
def test_a_real_one_is_found_with_its_place(stuck: int) -> None:
    """On this machine: state D over two looks, and the kernel function that it waits in."""
    got = here()

    assert isinstance(got, BlockedTasks)
    (task,) = (task for task in got.tasks if task.pid == stuck)
    assert ("D", os.getpid(), True) == (task.state, task.ppid, task.wchan is not None)


def test_a_real_zombie_is_found_with_its_parent() -> None:
    """On this machine: a child that ended and is not waited for."""
    with subprocess.Popen(("/bin/true",)) as dead:
        path = Path(f"/proc/{dead.pid}/stat")
        while path.read_text().rpartition(") ")[2][0] != "Z":
            pass
        got = here()

    assert isinstance(got, BlockedTasks)
    (task,) = (task for task in got.tasks if task.pid == dead.pid)
    assert ("Z", "true", os.getpid()) == (task.state, task.comm, task.ppid)
