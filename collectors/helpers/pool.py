"""Helpers that wait for whoever asks next: a resource holds one only while it is asked.

What each resource waits for, and that it is asked one thing at a time, stays its Helper's. A helper
that hangs never comes back here: its resource lets go of it.
"""

import asyncio

from collectors.helpers.helper import Open
from collectors.helpers.link import Link


class Pool:
    """The helpers that have nothing to do, the one that worked last on top."""

    def __init__(self, start: Open) -> None:
        self._start = start
        self._idle: list[tuple[Link, float]] = []

    async def take(self) -> Link:
        """Return a helper that waits, or a new one."""
        while self._idle:
            link, _ = self._idle.pop()
            if not link.gone:
                return link
        return await self._start()

    def put(self, link: Link) -> None:
        """Take back one that has answered."""
        self._idle.append((link, asyncio.get_running_loop().time()))

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
