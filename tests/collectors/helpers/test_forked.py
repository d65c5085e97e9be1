"""A forked helper is as good as a child: it answers, hangs, is ended, and leaves nothing."""

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.gpu.simulator.plan import plan
from collectors.gpu.simulator.scenario import read as read_scenario
from collectors.helpers.children import nvml
from collectors.helpers.forked import Forks
from collectors.helpers.helper import Helper
from collectors.node import live
from collectors.node.live import Live, child_argv


@pytest.fixture
async def forks() -> AsyncIterator[Forks]:
    one = Forks((*child_argv("forks"), json.dumps({})))
    yield one
    await one.close()


def helper(forks: Forks) -> Helper:
    return Helper("files", forks.start)


async def read(one: Helper, path: Path) -> object:
    got = await one.ask(
        "files", deadline_s=10.0, root="/", patterns=[str(path)], names=[], cap=4096
    )
    return got if isinstance(got, Missing) else got["texts"].get(str(path))


def named(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def alive(pid: int | None) -> bool:
    assert pid is not None
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_two_helpers_are_two_processes_of_one(tmp_path: Path, forks: Forks) -> None:
    """Each answers on its own; both were forked by one process that is neither."""
    (tmp_path / "a").write_text("text")
    one, other = helper(forks), helper(forks)
    got = [await read(one, tmp_path / "a"), await read(other, tmp_path / "a")]
    pids = {one.pid, other.pid, forks.pid}
    await one.close()
    await other.close()

    assert (["text", "text"], 3, [True, True]) == (
        got,
        len(pids),
        [not alive(pid) for pid in pids - {forks.pid}],
    )


@pytest.mark.serial
async def test_one_that_ignores_term_is_killed(tmp_path: Path, forks: Forks) -> None:
    """Frozen, it does nothing on TERM; closing ends it with KILL, and the next is a fresh one."""
    (tmp_path / "a").write_text("text")
    one = helper(forks)
    await read(one, tmp_path / "a")
    pid = one.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    late = await one.ask("files", deadline_s=0.3, root="/", patterns=[], names=[], cap=1)
    stuck = one.stuck
    again = await read(one, tmp_path / "a")
    await one.close()

    assert isinstance(late, Missing)
    assert (Cause.TIMEOUT, 1, "text", False) == (late.cause, stuck, again, alive(pid))


async def test_when_the_process_that_forks_dies_another_is_started(
    tmp_path: Path, forks: Forks
) -> None:
    """Helpers that live go on; the next one comes from a new process, after one lost answer."""
    (tmp_path / "a").write_text("text")
    one, other = helper(forks), helper(forks)
    await read(one, tmp_path / "a")
    pid = forks.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    still = await read(one, tmp_path / "a")
    tries = [await read(other, tmp_path / "a") for _ in range(2)]
    changed = forks.pid != pid
    await one.close()
    await other.close()

    assert ("text", "text", True) == (still, tries[-1], changed)


async def test_closing_the_node_leaves_no_process(tmp_path: Path) -> None:
    """Two questions in turn need one process and what forks it; both are ended."""
    (tmp_path / "a").write_text("text")
    node = Live()
    node.share_helpers()
    await node.files(str(tmp_path / "a"))
    seen = await node.ask("interfaces")
    pids = node.pids()
    await node.close()

    assert (True, 2, []) == ("lo" in seen, len(pids), [pid for pid in pids if alive(pid)])


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the driver's helper ask a simulated library of two GPUs."""
    scenario = tmp_path / "plan"
    scenario.write_text(json.dumps(plan(read_scenario('model = "h100-sxm"\ncount = 2\n', "two"))))
    given = ("--scenario", str(scenario))
    monkeypatch.setattr(
        live, "child_argv", lambda name: child_argv(name) + (given if name == "nvml" else ())
    )


@pytest.mark.usefixtures("simulated")
async def test_the_drivers_helper_is_forked_before_it_has_a_library() -> None:
    """It answers under its own name, and stays for the next question."""
    node = Live()
    node.share_helpers()
    seen = [await node.ask("nvml", deadline_s=20.0) for _ in range(2)]
    pids = node.pids()
    names = {named(pid) for pid in pids}
    await node.close()

    assert ([2, 2], 2, True, []) == (
        [len(one["gpus"]) for one in seen],
        len(pids),
        nvml.NAME in names,
        [pid for pid in pids if alive(pid)],
    )
