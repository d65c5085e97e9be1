"""What is not left to the next walk: links are watched every second, and others ring by themselves.

NCCL gives up some seven seconds after a port went down: who asks then must be told why.
"""

import asyncio
from collections.abc import Iterable

import msgspec

from collectors.catalog import Collect, Source
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.counters import Counting, PortCounters
from collectors.network.links import LinkHistory, Watching
from collectors.network.optics import Looking, Optics
from collectors.network.statistics import EthernetStatistics, Sampling
from collectors.node.protocol import Node

# A link that flaps each second must not make a walk of each flap.
LEAST_S = 1.0


class Alarm:
    """Rings when a link went up or down, and for whoever rings it; a walk is made at once."""

    def __init__(self) -> None:
        self._rang = asyncio.Event()
        self._watching = Watching()

    def behind(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Return *sources* with those of links and counters as ones that remember."""
        going_on: dict[type[Observation], Collect] = {
            LinkHistory: self._collect,
            PortCounters: Counting().collect,
            EthernetStatistics: Sampling().collect,
            Optics: Looking().collect,
        }
        return tuple(
            msgspec.structs.replace(one, collect=going_on.get(one.shape, one.collect))
            for one in sources
        )

    async def _collect(self, node: Node, wanted: Wanted) -> LinkHistory | Missing:
        seen = await self._watching.collect(node, wanted)
        if isinstance(seen, LinkHistory) and self._watching.changed:
            self.ring()
        return seen

    def ring(self) -> None:
        """Have a walk made."""
        self._rang.set()

    async def within(self, seconds: float, node: Node) -> bool:
        """Wait for so long, or until it rings; return whether it rang."""
        rest = min(LEAST_S, seconds)
        await node.sleep(rest)
        try:
            async with asyncio.timeout(seconds - rest):
                await self._rang.wait()
        except TimeoutError:
            return False
        self._rang.clear()
        return True
