"""Helpers that wait for whoever asks next: a resource holds one only while it is asked.

What each resource waits for, and that it is asked one thing at a time, stays its Helper's. A helper
that hangs never comes back here: its resource lets go of it.
"""

import asyncio
from collections import deque

from collectors.helpers.helper import Open
from collectors.helpers.link import Link

# Most answers are there within some milliseconds, and another helper is 4 MiB for as long as it is
# wanted now and then. What hangs is waited for no longer than this.
PATIENCE_S = 0.25
# One that lay below the others for so long is not wanted beside them.
SPARE_S = 10.0


class Pool:
    """The helpers that have nothing to do, the one that worked last on top."""

    def __init__(self, start: Open) -> None:
        self._start = start
        self._idle: list[tuple[Link, float]] = []
        self._busy: list[tuple[Link, float]] = []
        self._waiters: deque[asyncio.Future[Link | None]] = deque()

    async def take(self) -> Link:
        """Return one that comes back at once, a helper that waits, or a new one.

        Whoever finds one at work waits for it: a second one that waits is wanted by what hangs
        alone, and ends where nothing does.
        """
        now = asyncio.get_running_loop().time()
        self._busy = [(one, since) for one, since in self._busy if not one.gone]
        link = None
        if any(now - since < PATIENCE_S for _, since in self._busy):
            link = await self._returned()
        if link is None:
            link = self._waiting()
        if link is None or link.gone:
            link = await self._start()
        self._busy.append((link, asyncio.get_running_loop().time()))
        return link

    def _waiting(self) -> Link | None:
        while self._idle:
            link, _ = self._idle.pop()
            if not link.gone:
                return link
        return None

    async def _returned(self) -> Link | None:
        """Return the next that is put back, None where none is for PATIENCE_S."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Link | None] = loop.create_future()
        self._waiters.append(waiter)
        patience = loop.call_later(PATIENCE_S, _give_up, waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            # It may have come in the moment in which nobody waits for it any more.
            if waiter.done() and not waiter.cancelled() and (link := waiter.result()):
                self._rest(link)
            raise
        finally:
            patience.cancel()

    def put(self, link: Link) -> None:
        """Take back one that has answered."""
        self._busy = [(one, since) for one, since in self._busy if one is not link]
        self._rest(link)

    def _rest(self, link: Link) -> None:
        """Hand it to whoever has waited longest, or let it wait itself."""
        while self._waiters:
            if not (waiter := self._waiters.popleft()).done():
                waiter.set_result(link)
                return
        now = asyncio.get_running_loop().time()
        if self._idle and self._idle[0][1] <= now - SPARE_S:
            self.rest(SPARE_S)
        self._idle.append((link, now))

    def pids(self) -> list[int]:
        """Return the processes that wait."""
        return [link.pid for link, _ in self._idle if not link.gone and link.pid is not None]

    def rest(self, idle_s: float) -> None:
        """End those that nobody wanted for *idle_s*: what a busy moment needed is not kept."""
        before = asyncio.get_running_loop().time() - idle_s
        for link, since in self._idle:
            if since <= before:
                link.end()
        self._idle = [(link, since) for link, since in self._idle if since > before]

    async def close(self) -> None:
        """End them all, and wait for it; they have nothing to do, so that nothing holds them."""
        idle, self._idle = self._idle, []
        for link, _ in idle:
            link.end()
        for link, _ in idle:
            await link.ended()


def _give_up(waiter: "asyncio.Future[Link | None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
