"""Listening to the kernel log: what it says is judged at once, and whoever looks asks nothing."""

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.daemon.kernel import Listening, Searching
from agent.walk.kernel import ready
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.kernel.following import Following
from collectors.node.protocol import Identity
from diagnostics.rules.kernel import KernelSymptoms
from tests.agent.daemon.talking import LINES, Talking
from tests.agent.daemon.virtual import for_a_while, virtually


class Slow(Talking):
    """A node whose name takes a moment: whoever looks is between two steps for so long."""

    async def identity(self) -> Identity:
        await asyncio.sleep(0.05)
        return await super().identity()


def test_what_the_kernel_says_rings_within_a_second() -> None:
    """R15: a symptom rings 0.6 s after its line at the latest, and again only where it is another.

    A line of no meaning, the same symptom on the same GPU, and what was there at the start do not;
    100,000 lines at once are searched once.
    """
    rang: list[float] = []
    # Read in a thread where they were not yet, which virtual time does not wait for.
    ready(Wanted().rules)

    async def main() -> tuple[float, int]:
        node, following, searching = Talking(), Following(), Searching()
        node.lines = [LINES[2]]
        told: dict[type, Any] = {}

        async def look(shape: type, within_s: float) -> Any:
            del within_s
            if shape is KernelLog:
                told[KernelLog] = await following.collect(node, Wanted())
            else:
                told[shape] = await searching.collect(node, Wanted(), told[KernelLog])
            return told[shape]

        listening = Listening(node, look, following.listen, lambda: rang.append(node.monotonic()))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(for_a_while(listening.run(), 300.0))
            await asyncio.sleep(70.0)
            node.lines += [LINES[0], LINES[2]]
            await asyncio.sleep(10.0)
            lost_at = node.monotonic()
            node.lines.append(LINES[1])
            await asyncio.sleep(10.0)
            asked = len(node.asked)
            node.lines += [LINES[1]] * 40_000
            await task
        return lost_at, sum("wait_s" not in question for question in node.asked[asked:])

    lost_at, flood = virtually(main)

    assert (1, True, True) == (len(rang), rang[0] - lost_at <= 0.6, flood <= 22)


def test_where_nobody_tells_the_log_is_left_to_its_period() -> None:
    """Of a journal nobody is asked to wait: that is looked at once a minute; nothing rings."""
    rang: list[int] = []
    node, looked = Talking(), []

    async def main() -> None:
        following = Following()
        node.source, node.lines = "journald", [LINES[1]]
        await following.collect(node, Wanted())

        async def look(shape: type, within_s: float) -> Any:
            looked.append((shape, within_s))
            return Missing(what=shape.__name__, cause=Cause.DENIED, detail="no reader is running")

        listening = Listening(node, look, following.listen, lambda: rang.append(1))
        await for_a_while(listening.run(), 150.0)

    virtually(main)

    assert (1, [(KernelLog, 0.0), (KernelSymptoms, 0.0)], []) == (len(node.asked), looked, rang)


def test_while_somebody_listens_nobody_asks() -> None:
    """In ten minutes each look shows what was said until then, with its age, and costs no question.

    One question in 30 s waits; a line costs two: the one that told it, and one for what follows.
    """

    async def main() -> tuple[list[tuple[int, float]], list[int]]:
        node, following = Talking(), Following()
        node.lines = [LINES[0]]
        shown, asked = [], []
        await following.collect(node, Wanted())

        async def listen() -> None:
            while True:
                if await following.listen(node) is True:
                    await following.collect(node, Wanted())

        async with asyncio.TaskGroup() as group:
            task = group.create_task(for_a_while(listen(), 600.0))
            for _ in range(10):
                asked.append(len(node.asked))
                await asyncio.sleep(59.0)
                node.lines.append(LINES[1])
                await asyncio.sleep(0.2)
                before = len(node.asked)
                log = await following.collect(node, Wanted())
                assert isinstance(log, KernelLog)
                assert len(node.asked) == before
                shown.append((len(log.records), round(log.uptime_s or 0.0, 1)))
            await task
        return shown, asked

    shown, asked = virtually(main)

    assert (
        [(n + 2, round(100.0 + 59.2 * (n + 1), 1)) for n in range(10)],
        True,
    ) == (shown, asked[-1] <= 9 * 4 + 1)


@given(st.lists(st.tuples(st.sampled_from(("said", "listen", "look")), st.integers(1, 30))))
def test_listening_and_looking_in_any_order_lose_and_double_nothing(
    steps: list[tuple[str, int]],
) -> None:
    """Whoever looks beside one that listens waits for nothing; each line is told once, in order."""
    waits: list[float] = []

    async def look(node: Talking, following: Following) -> KernelLog | Missing:
        began = node.monotonic()
        log = await following.collect(node, Wanted())
        waits.append(node.monotonic() - began)
        return log

    async def main() -> tuple[KernelLog | Missing, int]:
        node, following = Slow(), Following()
        node.lines = [LINES[0]]
        async with asyncio.TaskGroup() as group:
            for what, tenths in steps:
                if what == "said":
                    node.lines += [LINES[tenths % len(LINES)]] * tenths
                elif what == "listen":
                    group.create_task(following.listen(node))
                else:
                    group.create_task(look(node, following))
                # Of several in one moment each comes between two steps of the others.
                await asyncio.sleep(0 if tenths % 2 else tenths / 10)
        return await look(node, following), len(node.lines)

    log, said = virtually(main)
    assert isinstance(log, KernelLog)

    assert (list(range(said)), 0, True) == (
        [one.sequence for one in log.records],
        log.lost,
        # Those who look wait for one another, and never for the 30 s of the one that listens.
        max(waits) <= 0.15 * len(waits),
    )


def test_what_is_told_while_somebody_looks_is_kept() -> None:
    """A line comes between two steps of a look: that may miss it, and the next has it."""

    async def main() -> tuple[KernelLog | Missing, KernelLog | Missing]:
        node, following = Slow(), Following()
        node.tick_s, node.lines = 0.01, [LINES[0]]
        await following.collect(node, Wanted())
        async with asyncio.TaskGroup() as group:
            heard = group.create_task(following.listen(node))
            await asyncio.sleep(0.2)
            look = group.create_task(following.collect(node, Wanted()))
            await asyncio.sleep(0.01)
            node.lines.append(LINES[1])
            assert await heard is True
            assert not look.done()
        return look.result(), await following.collect(node, Wanted())

    first, second = virtually(main)
    assert isinstance(first, KernelLog)
    assert isinstance(second, KernelLog)

    assert (1, [0, 1]) == (len(first.records), [one.sequence for one in second.records])
