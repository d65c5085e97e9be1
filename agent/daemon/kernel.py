"""The kernel log in the daemon: read and searched as it is written, each record once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from agent.daemon.sampler import Shape
from agent.walk.kernel import AT_ONCE, ready
from collectors.catalog import Source
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing, Observation
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


# A flood of lines is searched twice a second, and not for each of them.
PAUSE_S = 0.5
# Where the kernel tells nobody by itself (no /dev/kmsg), its log is read in its period alone.
DEAF_S = 60.0

Look = Callable[[Shape, float], Awaitable[Observation | Missing]]
Listen = Callable[[Node], Awaitable[bool | Missing]]


class Listening:
    """Has what the kernel says searched at once, and rings where it is a symptom not seen before.

    The same one again, be it a thousand times a second, rings once: the next walk counts it.
    """

    def __init__(self, node: Node, look: Look, listen: Listen, ring: Callable[[], None]) -> None:
        self._node = node
        self._look = look
        self._listen = listen
        self._ring = ring
        self._known: set[tuple[str, str | None, bool]] | None = None

    async def run(self) -> None:
        """Listen for ever, and first to what was said before."""
        await self._search()
        while True:
            said = await self._listen(self._node)
            if said is True:
                await self._search()
            await self._node.sleep(DEAF_S if isinstance(said, Missing) else PAUSE_S)

    async def _search(self) -> None:
        await self._look(KernelLog, 0.0)
        seen = await self._look(KernelSymptoms, 0.0)
        if not isinstance(seen, KernelSymptoms):
            return
        found = {(hit.rule, hit.name, hit.over) for hit in seen.hits if not hit.note}
        # The first walk, which waits for all sources, judges what was there before.
        if self._known is not None and found - self._known:
            self._ring()
        self._known = found


def behind(following: Following, sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return *sources* with those of the kernel log as ones that go on where they stopped."""
    going_on = {
        KernelLog: following.collect,
        KernelSymptoms: Searching().collect,
    }
    return tuple(
        msgspec.structs.replace(one, collect=going_on.get(one.shape, one.collect))
        for one in sources
    )
