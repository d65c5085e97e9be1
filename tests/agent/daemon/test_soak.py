"""R20: a daemon that walks for hours grows by nothing."""

import asyncio
import gc
import os
import random
from pathlib import Path

from agent.cli.run import open_node
from agent.daemon.keeping import Keeping
from agent.daemon.log import Limit
from agent.daemon.metrics import render
from agent.daemon.sampler import Sampler
from agent.daemon.walker import Walk, Walker
from agent.settings.load import Settings
from agent.walk.sources import SOURCES
from collectors.facts.wanted import Wanted
from tests.agent.daemon.fake import Fake
from tests.agent.daemon.virtual import Said, Still, for_a_while, virtually

# `SOAK=8 make test` makes a day of it.
HOURS = 3 * int(os.environ.get("SOAK", "1"))
PAGE = os.sysconf("SC_PAGE_SIZE")


def measured() -> tuple[int, int]:
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    return resident, len(list(Path("/proc/self/fd").iterdir()))


def test_hours_of_walks_cost_no_memory_and_no_descriptor(tmp_path: Path) -> None:
    """From the first hour to the last: less than 2 MiB more, and not one descriptor."""
    open_node(None, None, Settings(), ())
    kept, said = Keeping(tmp_path), Said()
    about, seen = Fake().about(), []

    def finished(walk: Walk) -> None:
        seen.append(len(render(about, kept.walked(walk), 0.0, (), ())))

    async def main() -> list[tuple[int, int]]:
        node, chance = Still(), random.Random(7)  # noqa: S311 - the same at each run
        sampler = Sampler(node, SOURCES, Wanted, said, chance)
        walker = Walker(node, sampler, Settings, finished, chance)
        marks = []
        async with asyncio.TaskGroup() as group:
            task = group.create_task(sampler.run())
            for hours in (1, HOURS - 1):
                await for_a_while(walker.run(), 3600.0 * hours)
                marks.append(measured())
            task.cancel()
        return marks

    (early, early_files), (late, _) = virtually(main)
    # Whoever writes has closed its file by then.
    kept.close(10.0)
    _, late_files = measured()

    # Fewer than before is what a test before this one left to be collected.
    assert (True, True, True) == (
        late - early < 2 << 20,
        late_files <= early_files,
        len(seen) >= HOURS * 115,
    )


def test_the_log_s_limit_forgets_events_of_long_ago() -> None:
    """Ten thousand different events leave a bounded memory behind."""
    limit = Limit(KeyError, lambda: 0.0)
    for number in range(10_000):
        limit(None, "", {"event": f"library_{number}"})

    assert len(limit._since) <= 256
