"""What the agent costs, from /proc as it is."""

import os
from collections.abc import Sequence
from typing import Any

from agent.daemon.cost import TICKS_S, Meter
from collectors.facts.answers import Files
from tests.agent.daemon.virtual import Still, virtually

ME = os.getpid()
# The real forms, with numbers of our own; a name may hold spaces and parentheses.
ROLLUP = "5581a000-7ffe3000 ---p 00000000 00:00 0   [rollup]\nRss:    {rss} kB\nPss:    {pss} kB\n"
STAT = "{pid} (gpudiag (x) y) S 1 2 3 0 -1 4194560 9 8 7 6 {user} {system} 0 0 20 0 1 0 99 1 2\n"


class Shown(Still):
    """A node with two processes of ours, the helper busier each time it is looked at."""

    def __init__(self) -> None:
        self.ticks = 0

    async def files(self, *patterns: str, names: Sequence[str] = (), **_: Any) -> Files:
        del patterns, names
        self.ticks += TICKS_S
        helper = STAT.format(pid=77, user=self.ticks, system=self.ticks)
        return Files(
            texts={
                f"/proc/{ME}/smaps_rollup": ROLLUP.format(rss=51_000, pss=38_000),
                "/proc/77/smaps_rollup": ROLLUP.format(rss=12_000, pss=3_000),
                "/proc/77/stat": helper,
            }
        )


def test_memory_is_the_sum_of_shares_and_time_that_of_all() -> None:
    """PSS of both in bytes; the helper's two seconds more a minute are 1/30 of a core."""

    async def main() -> tuple[Any, Any]:
        node = Shown()
        meter = Meter(node)
        first = await meter.measure([77])
        await node.sleep(60.0)
        return first, await meter.measure([77])

    first, second = virtually(main)

    assert (41_000 * 1024, None, True, 2) == (
        second.pss_bytes,
        first.core_share,
        abs(second.core_share - 2 / 60) < 0.01,
        second.processes,
    )


def test_what_cannot_be_read_is_not_reported() -> None:
    """Where /proc is not shown the memory is unknown, not 0."""

    async def main() -> Any:
        return await Meter(Still()).measure([77])

    assert virtually(main).pss_bytes is None


def test_memory_is_looked_at_once_in_five_minutes() -> None:
    """To tell PSS the kernel walks all pages of a process: that would be much of what we cost."""
    asked: list[int] = []

    class Counted(Shown):
        async def files(self, *patterns: str, **given: Any) -> Files:
            asked.append(sum(one.endswith("smaps_rollup") for one in patterns))
            return await super().files(*patterns, **given)

    async def main() -> list[int | None]:
        meter = Meter(Counted())
        return [(await meter.measure([77])).pss_bytes for _ in range(7)]

    known = virtually(main)

    assert ([2, 0, 0, 0, 0, 2, 0], {41_000 * 1024}) == (asked, set(known))
