"""The kernel log in the daemon: each record is read once and searched once, not every 10 s."""

import asyncio
from collections.abc import Iterable

import msgspec

from agent.walk.kernel import AT_ONCE, ready
from collectors.catalog import Source
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.kernel.following import Following
from collectors.node.protocol import Node
from diagnostics.rules.kernel import KernelSymptoms, Search, joined, whole

# What a search is good for: the site's rules, the boot, and where the log is from.
Ground = tuple[object, ...]


class Searching:
    """One search that goes on for as long as rules, boot and source stay the same."""

    def __init__(self) -> None:
        self._search: Search | None = None
        self._ground: Ground = ()
        self._after = -1

    async def collect(
        self, node: Node, wanted: Wanted, log: KernelLog | Missing
    ) -> KernelSymptoms | Missing:
        """Search the records that are new since the last time."""
        if isinstance(log, Missing):
            return log
        ground = (wanted.rules, log.boot_id, log.source)
        if self._search is None or self._ground != ground:
            # Files of this package and of the site: their reading is short, and none for the loop.
            known = await asyncio.to_thread(ready, wanted.rules)  # noqa: TID251 - see above
            self._search, self._ground, self._after = Search(log, known), ground, -1
        self._search.later(log)
        new = [one for one in log.records if one.sequence > self._after]
        new = new[: whole(new)]
        records = tuple(joined(new))
        for start in range(0, len(records), AT_ONCE):
            self._search.feed(records[start : start + AT_ONCE])
            await node.sleep(0)
        self._after = new[-1].sequence if new else self._after
        return self._search.seen()


def following(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return *sources* with those of the kernel log as ones that go on where they stopped."""
    going_on = {KernelLog: Following().collect, KernelSymptoms: Searching().collect}
    return tuple(
        msgspec.structs.replace(one, collect=going_on.get(one.shape, one.collect))
        for one in sources
    )
