"""The one thread that writes: it takes all that waits, commits once, then answers all of it."""

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeVar

import msgspec

from aggregator.store.protocol import OverloadError, StoreError

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

GROUP = 64
WAITING = 1024
GATHER_S = 0.002


class Item(msgspec.Struct):
    """A piece of work, whom to answer, and what it came to."""

    work: Work[Any]
    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None


class Writer:
    """A thread with its connection, opened in it; without `writes` it reads, one by one."""

    connection: sqlite3.Connection

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], name: str, *, writes: bool
    ) -> None:
        self.connect = connect
        self.writes = writes
        self.seconds = 0.0
        self.commits = 0
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._never = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many pieces of work wait."""
        return self._queue.qsize()

    async def do(self, work: Work[T]) -> T:
        """Run *work* in the thread; when this returns, what it wrote is on disk."""
        if self._queue.qsize() >= WAITING:
            raise OverloadError(f"{WAITING} requests wait for the database")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(Item(work, future))
        return await future

    async def close(self) -> None:
        """Finish what waits, then close the connection."""
        self._queue.put(None)
        while self._thread.is_alive():  # noqa: ASYNC110 - a thread gives no event to wait for
            await asyncio.sleep(0.01)

    def _run(self) -> None:
        with closing(self.connect()) as self.connection:
            self._serve()

    def _serve(self) -> None:
        crowd = False
        while (item := self._queue.get()) is not None:
            group = [item]
            if crowd:
                # Many are sending: what comes within this time shares the commit.
                self._never.wait(GATHER_S)
            ends = self._fill(group)
            self._handle(group)
            answer(group)
            crowd = self.writes and len(group) > 1
            if ends:
                return

    def _fill(self, group: list[Item]) -> bool:
        """Add what waits already; True where the end was among it."""
        while self.writes and len(group) < GROUP:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return False
            if item is None:
                return True
            group.append(item)
        return False

    def _handle(self, group: list[Item]) -> None:
        if not self.writes:
            for item in group:
                self._one(item)
            return
        began = time.perf_counter()
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            for item in group:
                self._saved(item)
            self.connection.execute("COMMIT")
        except sqlite3.Error as problem:
            self._undo()
            for item in group:
                item.error = item.error or StoreError(f"the database did not take it: {problem}")
        self.seconds += time.perf_counter() - began
        self.commits += 1

    def _saved(self, item: Item) -> None:
        """Run one piece so that its failure takes nothing of the others with it."""
        self.connection.execute("SAVEPOINT one")
        self._one(item)
        if item.error is not None and self.connection.in_transaction:
            self.connection.execute("ROLLBACK TO one")
        self.connection.execute("RELEASE one")

    def _one(self, item: Item) -> None:
        try:
            item.result = item.work(self.connection)
        except sqlite3.Error as problem:
            item.error = StoreError(f"the database did not do it: {problem}")
        except Exception as problem:  # noqa: BLE001 - it is raised where the work was asked for
            item.error = problem

    def _undo(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")


def answer(group: list[Item]) -> None:
    """Wake whoever waits: one call into the loop for the whole group."""
    loop = group[0].future.get_loop()
    try:
        loop.call_soon_threadsafe(_settle, group)
    except RuntimeError:  # the loop is closed: nobody waits any more
        return


def _settle(group: list[Item]) -> None:
    for item in group:
        if item.future.done():
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.result)
