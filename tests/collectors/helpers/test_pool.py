"""Resources share the processes that have nothing to do, and none that has."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.helpers.forked import Forks
from collectors.helpers.helper import Helper
from collectors.helpers.link import Link
from collectors.helpers.pool import Pool
from collectors.node.live import child_argv


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    forks = Forks((*child_argv("forks"), json.dumps({})))
    one = Pool(forks.start)
    yield one
    await one.close()
    await forks.close()


def helper(pool: Pool, name: str) -> Helper:
    return Helper(name, pool.take, give_back=pool.put)


async def two(pool: Pool) -> tuple[Link, Link]:
    """Return the one that waits on top, and the second, which a busy moment needed."""
    first, second = await asyncio.gather(pool.take(), pool.take())
    pool.put(second)
    pool.put(first)
    return first, second


async def read(one: Helper, path: Path, deadline_s: float = 10.0) -> object:
    got = await one.ask(
        "files", deadline_s=deadline_s, root="/", patterns=[str(path)], names=[], cap=4096
    )
    return got if isinstance(got, Missing) else got["texts"].get(str(path))


async def test_one_after_the_other_is_one_process(tmp_path: Path, pool: Pool) -> None:
    """Three resources asked in turn are served by one process, and none of them keeps it."""
    (tmp_path / "a").write_text("text")
    helpers = [helper(pool, name) for name in ("files", "mounts", "proc")]
    got, seen = [], set()
    for one in helpers:
        got.append(await read(one, tmp_path / "a"))
        seen.add(tuple(pool.pids()))

    assert (["text"] * 3, 1, [None] * 3) == (got, len(seen), [one.pid for one in helpers])


async def test_what_comes_back_at_once_is_waited_for(tmp_path: Path, pool: Pool) -> None:
    """Three resources asked at once are served by the one process that is there, in turn."""
    (tmp_path / "a").write_text("text")
    await read(helper(pool, "first"), tmp_path / "a")
    before = pool.pids()
    names = ("files", "mounts", "proc")
    got = await asyncio.gather(*(read(helper(pool, name), tmp_path / "a") for name in names))

    assert (["text"] * 3, 1, before) == (got, len(before), pool.pids())


async def test_who_waits_no_more_takes_none_with_him(tmp_path: Path, pool: Pool) -> None:
    """A question that is given up while it waits for a process leaves that to the others."""
    (tmp_path / "a").write_text("text")
    await read(helper(pool, "first"), tmp_path / "a")
    link = await pool.take()
    given_up = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    pool.put(link)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)

    assert [link.pid] == pool.pids()


async def test_a_second_one_that_is_not_wanted_is_ended(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one does all the work, one that a busy moment needed goes by itself."""
    first, second = await two(pool)
    loop = asyncio.get_running_loop()
    later = loop.time() + 11.0
    monkeypatch.setattr(loop, "time", lambda: later)
    pool.put(await pool.take())
    monkeypatch.undo()
    await second.ended()

    assert ([first.pid], True) == (pool.pids(), second.gone)


async def test_two_that_ask_at_once_do_not_keep_a_second_one(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits below the other for ten seconds in which two questions came at once, and ends."""
    first, second = await two(pool)
    loop = asyncio.get_running_loop()
    began = loop.time()
    used = []
    for seconds in (4.0, 8.0, 12.0):
        monkeypatch.setattr(loop, "time", lambda at=began + seconds: at)
        one = await pool.take()
        asking = asyncio.create_task(pool.take())
        await asyncio.sleep(0)
        pool.put(one)
        used += [one, await asking]
        pool.put(used[-1])
    monkeypatch.undo()
    await second.ended()

    assert ([first] * 6, [first.pid]) == (used, pool.pids())


async def test_one_that_hangs_holds_up_no_other(tmp_path: Path, pool: Pool) -> None:
    """While one resource's process is held by it, another gets its own; a late one never returns.

    The second is asked while the first waits; the first is ended after its deadline.
    """
    (tmp_path / "a").write_text("text")
    stuck, other = helper(pool, "mount"), helper(pool, "files")
    await read(stuck, tmp_path / "a")
    (pid,) = pool.pids()
    os.kill(pid, signal.SIGSTOP)
    late, answered = await asyncio.gather(
        read(stuck, tmp_path / "a", 1.0), read(other, tmp_path / "a")
    )
    waiting = pool.pids()
    os.kill(pid, signal.SIGKILL)
    await stuck.close()

    assert isinstance(late, Missing)
    assert (Cause.TIMEOUT, "text", True) == (late.cause, answered, pid not in waiting)


async def test_what_a_busy_moment_needed_is_ended(tmp_path: Path, pool: Pool) -> None:
    """Five at once are five processes; of those idle for long none is left, of the others all."""
    (tmp_path / "a").write_text("text")
    await asyncio.gather(*(read(helper(pool, str(n)), tmp_path / "a") for n in range(5)))
    busy = len(pool.pids())
    pool.rest(60.0)
    kept = len(pool.pids())
    pool.rest(0.0)

    assert (5, 5, []) == (busy, kept, pool.pids())


async def test_one_that_died_waiting_is_not_handed_out(tmp_path: Path, pool: Pool) -> None:
    """A process that was killed while it waited is replaced, and no question is lost to it."""
    (tmp_path / "a").write_text("text")
    one = helper(pool, "files")
    await read(one, tmp_path / "a")
    (pid,) = pool.pids()
    os.kill(pid, signal.SIGKILL)
    while pool.pids():  # noqa: ASYNC110 - its end is told to the link alone
        await asyncio.sleep(0.01)

    assert "text" == await read(one, tmp_path / "a")
