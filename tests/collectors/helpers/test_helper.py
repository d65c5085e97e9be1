"""A helper that hangs, dies or babbles costs one answer, never the agent."""

import asyncio
import os
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.helpers.helper import MOST_STUCK, Helper
from collectors.helpers.link import Child

DEADLINE_S = 1.0
ANSWER = '{"ok": 7}'


def helper(tmp_path: Path, body: str) -> Helper:
    """Return a helper whose program is *body*."""
    script = tmp_path / "child.py"
    script.write_text(f"import os, signal, sys, time\n{body}\n")
    return Helper("thing", partial(Child.start, (sys.executable, "-I", "-S", str(script))))


async def ask(one: Helper) -> object:
    return await one.ask("verb", deadline_s=DEADLINE_S)


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        pytest.param("sys.stdin.readline(); time.sleep(60)", Cause.TIMEOUT, id="hangs"),
        pytest.param("time.sleep(60)", Cause.TIMEOUT, id="never reads"),
        pytest.param("sys.stdin.readline(); os._exit(9)", Cause.CRASHED, id="dies"),
        pytest.param("sys.stdin.readline(); print('hello', flush=True)", Cause.GARBLED, id="text"),
        pytest.param("sys.stdin.readline(); print('[1]', flush=True)", Cause.GARBLED, id="shape"),
        pytest.param(
            "sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 65536)",
            Cause.GARBLED,
            id="babbles",
        ),
        pytest.param(
            'sys.stdin.readline(); print(\'{"missing": "denied", "detail": "no"}\', flush=True)',
            Cause.DENIED,
            id="says no",
        ),
    ],
)
async def test_each_way_of_failing_has_its_cause_and_comes_in_time(
    tmp_path: Path, body: str, cause: Cause
) -> None:
    """Whatever the child does, the answer is a Missing with its own cause, within the deadline."""
    one = helper(tmp_path, body)
    start = time.monotonic()

    got = await one.ask("verb", deadline_s=3.0 if cause is Cause.GARBLED else DEADLINE_S)
    took = time.monotonic() - start
    await one.close()

    assert isinstance(got, Missing)
    assert (cause, True) == (got.cause, took < 3.5)


async def test_the_next_question_goes_to_a_fresh_child(tmp_path: Path) -> None:
    """A child that hung once is replaced; the one after it answers."""
    flag = tmp_path / "hung"
    one = helper(
        tmp_path,
        f"flag = {str(flag)!r}\n"
        "for line in sys.stdin:\n"
        "    if not os.path.exists(flag):\n"
        "        open(flag, 'w').close(); time.sleep(60)\n"
        f"    print({ANSWER!r}, flush=True)",
    )

    got = (await ask(one), await ask(one))
    await one.close()

    assert ("Missing", 7) == (type(got[0]).__name__, got[1])


@pytest.mark.serial
async def test_a_child_that_ignores_term_is_killed_and_the_exit_is_clean(tmp_path: Path) -> None:
    """TERM is ignored, KILL follows after 2 s: closing ends within 5 s and leaves no process."""
    one = helper(
        tmp_path,
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "sys.stdin.readline(); time.sleep(60)",
    )
    await ask(one)
    stuck = one.stuck
    start = time.monotonic()

    await one.close()
    took = time.monotonic() - start
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)

    assert (1, True) == (stuck, took < 5)


async def test_stuck_helpers_are_counted_and_no_more_are_started(tmp_path: Path) -> None:
    """After two that do not end, the answer comes at once and no third child is made."""
    started = tmp_path / "started"
    one = helper(
        tmp_path,
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(started)!r}, 'a').write('x')\n"
        "sys.stdin.readline(); time.sleep(60)",
    )
    for _ in range(MOST_STUCK):
        await one.ask("verb", deadline_s=0.4)
    start = time.monotonic()

    got = await ask(one)
    took = time.monotonic() - start
    await one.close()

    assert isinstance(got, Missing)
    assert (
        got.detail,
        took < 0.3,
        len(started.read_text()),
    ) == ("2 helpers are stuck in the kernel already", True, MOST_STUCK)


async def test_where_a_late_call_stands_is_told(tmp_path: Path) -> None:
    """The stall is the finding: the pid of the late child is asked about before it is ended."""
    one = helper(tmp_path, "sys.stdin.readline(); time.sleep(60)")

    async def where(pid: int) -> str:
        os.kill(pid, 0)
        return "was there"

    one._where = where
    got = await ask(one)
    await one.close()

    assert isinstance(got, Missing)
    assert got.stuck == "was there"


async def test_an_idle_helper_is_ended_and_the_next_question_starts_another(tmp_path: Path) -> None:
    """What nobody asks costs no memory; who asks again gets an answer all the same."""
    one = helper(tmp_path, f"for line in sys.stdin: print({ANSWER!r}, flush=True)")
    await ask(one)
    first = one.pid

    one.rest(idle_s=60.0)
    kept = one.pid
    one.rest(idle_s=0.0)
    ended = one.pid
    again = await ask(one)
    await one.close()

    assert (first, None, 7) == (kept, ended, again)


async def test_a_helper_held_back_is_gone_and_says_why(tmp_path: Path) -> None:
    """Held back, its process ends at once and questions get the reason; handed back, it answers."""
    one = helper(tmp_path, f"for line in sys.stdin: print({ANSWER!r}, flush=True)")
    await ask(one)
    pid = one.pid
    assert pid is not None

    await one.hold_back("released for a driver upgrade")
    got = await ask(one)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    await one.hold_back(None)
    after = await ask(one)
    await one.close()

    assert isinstance(got, Missing)
    assert (Cause.HELD_BACK, "released for a driver upgrade", 7) == (got.cause, got.detail, after)


async def test_a_helper_that_just_starts_is_not_forgotten(tmp_path: Path) -> None:
    """Between the start and the first answer it looks like nothing; it is in use all the same."""
    one = helper(tmp_path, f"for line in sys.stdin: print({ANSWER!r}, flush=True)")
    asking = asyncio.ensure_future(ask(one))
    await asyncio.sleep(0)

    nothing_left = one.rest(idle_s=0.0)
    answer = await asking
    await one.close()

    assert (False, 7) == (nothing_left, answer)


async def test_a_name_in_no_encoding_spoils_no_answer(tmp_path: Path) -> None:
    """A file's name that is not UTF-8 comes as half a surrogate: all else is told with it."""
    body = """sys.stdin.readline(); print('{"ok": ["\\\\udcff", 7]}', flush=True)"""
    one = helper(tmp_path, body)
    got = await ask(one)
    await one.close()

    assert ["\udcff", 7] == got
