"""Let go of the driver for somebody who upgrades it, resets a GPU or changes MIG."""

import asyncio
import contextlib

from agent.daemon.keeping import Keeping
from agent.walk.report import iso
from collectors.node.live import Live
from collectors.node.protocol import Node

RELEASE_S = 2.0


class Releasing:
    """Who is told to keep off keeps off until the time is over, also over a restart."""

    def __init__(self, node: Node, keeping: Keeping) -> None:
        self._node = node
        self._keeping = keeping
        self._held = False

    @property
    def until(self) -> float | None:
        """Return until when (epoch seconds) the driver is not opened; None where it may be."""
        until = self._keeping.state.released_until
        return until if until > self._node.now() else None

    async def go_on(self) -> None:
        """Keep off from the start, where the run before was told to."""
        if self.until is not None:
            await self._hold_back(self.until)

    async def release(self, seconds: float) -> list[str]:
        """Let go within 2 s; return the processes that stay in the kernel with the driver open."""
        until = self._node.now() + seconds if seconds else 0.0
        self._keeping.release(until)
        await (self._hold_back(until) if seconds else self.look())
        if not isinstance(self._node, Live):
            return []
        return [
            f"{helper.resource}: pid {pid}"
            for helper in self._node.helpers()
            for pid in (helper.left_behind if helper.held_back else ())
        ]

    async def look(self) -> None:
        """Ask the driver again where the time is over."""
        if self._held and self.until is None:
            self._held = False
            if isinstance(self._node, Live):
                await self._node.release_driver(None)

    async def _hold_back(self, until: float) -> None:
        self._held = True
        if isinstance(self._node, Live):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RELEASE_S):
                    await self._node.release_driver(f"the GPUs were released until {iso(until)}")
