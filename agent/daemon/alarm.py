"""What is not left to the next walk: links are watched all the time, and others ring by themselves.

NCCL gives up some seven seconds after a port went down: who asks then must be told why.
"""

import asyncio
from collections.abc import Iterable

import msgspec

from collectors.catalog import Collect, Source
from collectors.facts.observation import Missing, Observation
from collectors.facts.processes import ProcessTable
from collectors.gpu import health, nvml
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import GpuSnapshot
from collectors.host import processes
from collectors.network import devlink, fec, fec_errors
from collectors.network.counters import Counting, PortCounters
from collectors.network.links import LinkHistory, Watching
from collectors.network.optics import Looking, Optics
from collectors.network.statistics import EthernetStatistics, Sampling
from collectors.node.protocol import Node

# A link that flaps each second must not make a walk of each flap.
LEAST_S = 1.0
# A link that flaps is told twice a second at most; a helper that does not answer is asked seldom.
PAUSE_S, DEAF_S = 0.5, 10.0


class Alarm:
    """Rings when a link went up or down, and for whoever rings it; a walk is made at once."""

    def __init__(self) -> None:
        self._rang = asyncio.Event()
        self._watching = Watching()

    def behind(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Return *sources* with those of processes, links and GPUs as ones that remember."""
        going_on: dict[type[Observation], Collect] = {
            ProcessTable: processes.Listing().collect,
            GpuSnapshot: nvml.Looking().collect,
            GpuHealth: health.Looking().collect,
            LinkHistory: self._watching.collect,
            PortCounters: Counting().collect,
            EthernetStatistics: Sampling().collect,
            Optics: Looking().collect,
            fec.Fec: fec.Looking().collect,
            fec_errors.FecErrors: fec_errors.Sampling().collect,
            devlink.AdapterHealth: devlink.Looking().collect,
        }
        return tuple(
            msgspec.structs.replace(one, collect=going_on.get(one.shape, one.collect))
            for one in sources
        )

    async def watch(self, node: Node) -> None:
        """Wait for links to go up or down, for ever, and ring for it."""
        while True:
            changed = await self._watching.wait(node)
            if changed is True:
                self.ring()
            await node.sleep(DEAF_S if isinstance(changed, Missing) else PAUSE_S)

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
