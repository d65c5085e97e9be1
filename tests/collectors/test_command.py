"""A tool is ended with its whole family, its output is capped, its absence has its own cause."""

import asyncio
import time
from pathlib import Path

import pytest

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing
from collectors.node.command import OUTPUT_CAP, Commands


def alive(pid: str) -> bool:
    """Tell whether a process still runs; a zombie that nobody has reaped does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid.strip()}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def ended(pid: str) -> bool:
    """Tell whether a process ends within a second: a signal that was sent needs its moment."""
    for _ in range(100):
        if not alive(pid):
            return True
        await asyncio.sleep(0.01)
    return False


async def sh(script: str, *, deadline_s: float) -> Output | Missing:
    commands = Commands()
    try:
        return await commands.run(("/bin/sh", "-c", script), deadline_s=deadline_s)
    finally:
        await commands.close()


async def test_the_family_of_a_late_tool_is_ended(tmp_path: Path) -> None:
    """A tool past its deadline is a timeout, and its own children do not outlive it."""
    pids = tmp_path / "pid"

    got = await sh(f"sleep 61 & echo $! > {pids}; wait", deadline_s=0.5)

    assert isinstance(got, Missing)
    assert (Cause.TIMEOUT, True) == (got.cause, await ended(pids.read_text()))


@pytest.mark.serial
async def test_a_tool_that_ignores_term_gets_kill_after_two_seconds(tmp_path: Path) -> None:
    """TERM is ignored by the tool and its child; both are gone within 5 s."""
    pids = tmp_path / "pid"
    start = time.monotonic()

    await sh(f"trap '' TERM; echo $$ > {pids}; while :; do sleep 1; done", deadline_s=0.3)
    took = time.monotonic() - start

    assert (True, True) == (await ended(pids.read_text()), 2 < took < 5)


async def test_a_child_left_on_the_pipe_holds_nobody_up(tmp_path: Path) -> None:
    """The answer comes when the tool exits, and the child it left behind is ended."""
    pids = tmp_path / "pid"
    start = time.monotonic()

    got = await sh(f"sleep 63 & echo $! > {pids}; echo hi", deadline_s=10)
    took = time.monotonic() - start

    assert isinstance(got, Output)
    assert ("hi\n", 0, True) == (got.stdout, got.status, took < 3)
    assert await ended(pids.read_text())


async def test_cancelling_leaves_nothing(tmp_path: Path) -> None:
    """A cancelled run ends its tool."""
    pids = tmp_path / "pid"
    commands = Commands()
    argv = ("/bin/sh", "-c", f"echo $$ > {pids}; exec sleep 62")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await commands.run(argv, deadline_s=30)
    await commands.close()

    assert await ended(pids.read_text())


async def test_fifty_megabytes_cost_one() -> None:
    """A babbling tool runs to its end and costs a megabyte of memory."""
    got = await sh("head -c 50000000 /dev/zero", deadline_s=20)

    assert isinstance(got, Output)
    assert (OUTPUT_CAP, 0) == (len(got.stdout), got.status)


async def test_a_missing_tool_is_not_an_ill_node() -> None:
    """Not installed has its own cause."""
    got = await Commands().run(("/nonexistent/ibping", "-c", "1"), deadline_s=1)

    assert isinstance(got, Missing)
    assert got.cause == Cause.NO_TOOL


async def test_a_tool_that_would_not_end_is_not_started_again() -> None:
    """While a run that was ended is still there, the answer comes at once."""
    commands = Commands()
    argv = ("/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done")
    await commands.run(argv, deadline_s=0.3)
    start = time.monotonic()

    got = await commands.run(argv, deadline_s=5)
    took = time.monotonic() - start
    await commands.close()

    assert isinstance(got, Missing)
    assert (
        got.detail,
        took < 0.2,
    ) == ("an earlier run of it does not end; no other is started", True)
