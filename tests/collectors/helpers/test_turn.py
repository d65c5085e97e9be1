"""One at a time among programs: a lock that its holder's end, however it ends, gives back."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.helpers.helper import Helper
from collectors.helpers.link import Child
from collectors.helpers.turn import Turn
from collectors.node.live import child_argv

# Another program of ours that holds the right until it is killed.
OTHER = """
import fcntl, sys
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[tuple[Turn, Turn]]:
    """The right to one resource, as two programs have it."""
    one, other = (Turn.open(str(tmp_path), "bmc") for _ in range(2))
    assert one is not None
    assert other is not None
    yield one, other
    one.close()
    other.close()


def helper(turn: Turn) -> Helper:
    return Helper("bmc", lambda: Child.start(child_argv("reader")), turn=turn)


async def ask(one: Helper, deadline_s: float) -> object:
    got = await one.ask(
        "files", deadline_s=deadline_s, root="/", patterns=[], names=["/proc"], cap=10
    )
    return got if isinstance(got, Missing) else got["texts"]


async def test_who_comes_second_waits_and_says_for_whom(
    tmp_path: Path, turns: tuple[Turn, Turn]
) -> None:
    """While another program holds the right nothing is asked; killed, it has given it back."""
    one = helper(turns[0])
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", OTHER, tmp_path / "bmc", stdin=-1, stdout=-1
    )
    assert other.stdout is not None
    await other.stdout.readline()
    refused = await ask(one, 0.3)
    unasked = one.pid
    other.kill()
    await other.wait()
    answered = await ask(one, 10.0)
    await one.close()

    assert isinstance(refused, Missing)
    assert (Cause.TIMEOUT, True, None, {"/proc": ""}) == (
        refused.cause,
        refused.detail.startswith("another program of gpudiag has been asking it for"),
        unasked,
        answered,
    )


async def test_two_programs_never_ask_at_once(turns: tuple[Turn, Turn]) -> None:
    """Two holders of the right, as two programs have them, take turns, and both get theirs."""
    most = now = 0

    async def work(turn: Turn) -> None:
        nonlocal most, now
        for _ in range(5):
            async with turn.held():
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.001)
                now -= 1
            await asyncio.sleep(0.001)

    async with asyncio.timeout(20.0), asyncio.TaskGroup() as group:
        for turn in turns:
            group.create_task(work(turn))

    assert 1 == most


async def test_questions_of_one_program_share_it(turns: tuple[Turn, Turn]) -> None:
    """Drives of one node are asked at once by one program: the right is the program's."""
    turn, other = turns
    async with turn.held():
        async with turn.held():
            pass
        kept = not other._taken()
    free = other._taken()

    assert (True, True) == (kept, free)


@pytest.mark.root
def test_a_stranger_takes_no_part(tmp_path: Path) -> None:
    """Who is not let into the folder asks without the lock, and cannot hold it; root can.

    Neither a link nor a pipe in its place is opened.
    """
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    tmp_path.chmod(0o750)
    first = Turn.open(str(tmp_path), "bmc")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "fifo")
    code = (
        "import os, sys\n"
        "from collectors.helpers.turn import Turn\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "sys.exit(Turn.open(sys.argv[1], 'bmc') is not None)\n"
    )
    stranger = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)

    assert (True, 0, None, None, 0o660) == (
        first is not None,
        stranger.returncode,
        Turn.open(str(tmp_path), "link"),
        Turn.open(str(tmp_path), "fifo"),
        (tmp_path / "bmc").stat().st_mode & 0o777,
    )
