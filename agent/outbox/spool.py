"""The spool as the agent sees it: nothing here waits for a disk longer than it is told to."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from agent.outbox.folder import Folder
from agent.outbox.store import BLOCK, Limits, Status, Store
from agent.outbox.worker import Worker
from aggregator.wire import Report

MOST_WAITING = 256
PATIENCE_S = 5.0


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent at once: numbered JSON bodies in their order.

    `kept` is the highest number of those that the spool holds, 0 where it holds none of them;
    `heartbeat` the number of the heartbeat among them.
    """

    records: tuple[tuple[int, bytes], ...] = ()
    kept: int = 0
    heartbeat: int | None = None
    more: bool = False

    def first(self, count: int) -> "Batch":
        """Return the first *count* records as a batch of their own."""
        records = self.records[:count]
        numbers = [number for number, _ in records]
        return Batch(
            records=records,
            kept=max((n for n in numbers if n != self.heartbeat and n <= self.kept), default=0),
            heartbeat=self.heartbeat if self.heartbeat in numbers else None,
            more=True,
        )


class Spool:
    """Takes reports at once, gives them back in order until they are acknowledged.

    Changes and snapshots go to disk, or to a small memory while the disk refuses. Of heartbeats
    only the newest is kept, in memory alone: an old one says nothing. What finds no room is
    counted, and the next report that is kept tells how many. After a crash the count may be off:
    too high by what was told of and not yet noted, too low by what was lost since the last note.
    Records may come twice, never out of order.
    """

    def __init__(
        self,
        folder: Folder,
        *,
        limits: Limits | None = None,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        patience_s: float = PATIENCE_S,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = Store(folder, limits=limits, monotonic=monotonic)
        self._worker = Worker("spool")
        self._wall = wall
        self._patience_s = patience_s
        self._say = say
        self._next = 0
        self._reserved = 0
        self._waiting = 0
        self._refused = 0
        self._heartbeat: tuple[int, bytes] | None = None
        self._reading: asyncio.Future[tuple[list[tuple[int, bytes]], bool]] | None = None
        self._ready = asyncio.Event()
        self.status = Status()
        self.node: str | None = None

    async def start(self) -> None:
        """Open what is on disk; a disk that does not answer is left to answer later."""
        self._next = now = int(self._wall() * 1000)
        opening = self._worker.ask(partial(self._store.open, now))
        opening.add_done_callback(self._opened)
        await self._patiently(opening)

    def _opened(self, opening: asyncio.Future[int]) -> None:
        if not opening.cancelled() and opening.exception() is None:
            self._next = max(self._next, opening.result())
            self._reserved = max(self._reserved, opening.result() + BLOCK)
            self._look()
        self._ready.set()

    def put(self, report: Report) -> asyncio.Future[bool]:
        """Take a report and number it; need not be awaited, and is never late itself.

        The answer is whether the report is on disk for good.
        """
        number = self._number()
        self.node = report.node
        report = msgspec.structs.replace(report, sequence=number)
        if report.kind == "heartbeat":
            self._heartbeat = (number, msgspec.json.encode(report))
            self._ready.set()
            return _answered()
        if self._waiting >= MOST_WAITING:
            self._refused += 1
            return _answered()
        refused, self._refused = self._refused, 0
        self._waiting += 1
        writing = self._worker.ask(partial(self._store.append, report, refused))
        writing.add_done_callback(self._written)
        self._look()
        return writing

    def _number(self) -> int:
        """Return the next number; blocks of them are reserved on disk before they are reached."""
        number, self._next = self._next, self._next + 1
        if number + BLOCK // 2 > self._reserved:
            self._reserved = number + BLOCK
            self._worker.ask(partial(self._store.reserve, number))
        return number

    def _written(self, writing: asyncio.Future[bool]) -> None:
        self._waiting -= 1
        if not writing.cancelled():
            writing.exception()
        self._ready.set()

    def _look(self) -> None:
        self._worker.ask(self._store.status).add_done_callback(self._seen)

    def _seen(self, looking: asyncio.Future[Status]) -> None:
        if looking.cancelled() or looking.exception() is not None:
            return
        before, self.status = self.status, looking.result()
        for name in set(self.status.damaged) - set(before.damaged):
            self._say(f"spool: {name} is damaged; what can be read of it is still sent")
        if self.status.problem and not before.problem:
            self._say(f"spool: {self.status.problem}; reports are held in memory meanwhile")
        if before.problem and not self.status.problem:
            self._say("spool: reports are on disk again")

    async def wait(self) -> None:
        """Wait until something was put since the last wait."""
        await self._ready.wait()
        self._ready.clear()

    async def batch(self, most: int = 500, most_bytes: int = 1 << 20) -> Batch:
        """Return the oldest records; the heartbeat is among the last ones of a backlog.

        While the disk does not answer, the heartbeat goes alone: the node lives.
        """
        if self._reading is None or self._reading.done():
            self._reading = self._worker.ask(partial(self._store.batch, most, most_bytes))
        reading = self._reading
        if not await self._patiently(reading):
            return self._with_heartbeat([], more=False)
        rows, more = reading.result()
        return self._with_heartbeat(rows, more=more)

    def _with_heartbeat(self, rows: list[tuple[int, bytes]], *, more: bool) -> Batch:
        kept = rows[-1][0] if rows else 0
        heartbeat = None if more else self._heartbeat
        if heartbeat is not None:
            rows = sorted([*rows, heartbeat])
        number = heartbeat[0] if heartbeat else None
        return Batch(records=tuple(rows), kept=kept, heartbeat=number, more=more)

    async def acknowledge(self, batch: Batch, rejected: int = 0) -> None:
        """Let go of a batch; *rejected* of it are lost, and counted."""
        if self._heartbeat is not None and self._heartbeat[0] == batch.heartbeat:
            self._heartbeat = None
        if batch.kept or rejected:
            call = partial(self._store.acknowledge, batch.kept, rejected)
            await self._patiently(self._worker.ask(call))
            self._look()

    async def _patiently(self, asked: asyncio.Future[Any]) -> bool:
        """Wait for the disk, but not for ever; return whether it answered."""
        await asyncio.wait([asked], timeout=self._patience_s)
        if asked.done():
            asked.result()  # what no disk does is a fault of ours, and is raised
        return asked.done()

    async def close(self) -> None:
        """Wait for what is still to be written, as long as for anything else."""
        last = self._worker.ask(self._store.status)
        self._worker.end()
        await self._patiently(last)


def _answered() -> asyncio.Future[bool]:
    future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    future.set_result(False)
    return future
