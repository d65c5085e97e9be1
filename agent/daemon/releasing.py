"""Let go of the driver for somebody who upgrades it, resets a GPU or changes MIG."""

import asyncio
import contextlib

from agent.daemon.keeping import Keeping
from agent.walk.report import iso
from collectors.node.live import Live
from collectors.node.protocol import Node

RELEASE_S = 2.0


class Releasing:
    """Who is told to keep off keeps off until the time is over, also over a restart.

    `changing` is why the driver is let go of though nobody said so; see `driver_change`.
    """

    def __init__(self, node: Node, keeping: Keeping) -> None:
        self.changing: str | None = None
        self._node = node
        self._keeping = keeping
        self._held: str | None = None

    @property
    def until(self) -> float | None:
        """Return until when (epoch seconds) the driver is not opened; None where it may be."""
        until = self._keeping.state.released_until
        return until if until > self._node.now() else None

    async def release(self, seconds: float) -> list[str]:
        """Let go within 2 s; return the processes that stay in the kernel with the driver open."""
        self._keeping.release(self._node.now() + seconds if seconds else 0.0)
        if not seconds:
            # A person who wants the driver asked knows better than we whether it is ready.
            self.changing = None
        await self.look()
        if not isinstance(self._node, Live):
            return []
        return [
            f"{helper.resource}: pid {pid}"
            for helper in self._node.helpers()
            for pid in (helper.left_behind if helper.held_back else ())
        ]

    async def let_go(self, why: str) -> None:
        """Let go within 2 s, until `take_up`."""
        self.changing = why
        await self.look()

    async def take_up(self) -> None:
        """Ask the driver again, unless a person released it for longer."""
        self.changing = None
        await self.look()

    async def look(self) -> None:
        """Do as is said now: keep off, or ask again where the time is over."""
        until = self.until
        why = f"the GPUs were released until {iso(until)}" if until is not None else self.changing
        if why == self._held:
            return
        self._held = why
        if isinstance(self._node, Live):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RELEASE_S):
                    await self._node.release_driver(why)
