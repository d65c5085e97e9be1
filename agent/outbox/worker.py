"""One thread for what may hang in the kernel, so that the loop never does."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")
Job = tuple[Callable[[], Any], asyncio.Future[Any], asyncio.AbstractEventLoop]


class Worker:
    """Runs calls one after the other. A thread that hangs for good does not keep the process."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def ask(self, call: Callable[[], Answer]) -> asyncio.Future[Answer]:
        """Put *call* behind those that wait; its answer, or what it raised, comes to the loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._jobs.put((call, future, loop))
        return future

    def end(self) -> None:
        """Let the thread end after the calls that wait."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, future, loop = job
            answer: Any = None
            problem: Exception | None = None
            try:
                answer = call()
            except Exception as raised:  # noqa: BLE001 - whatever it is, the asker is told
                problem = raised
            try:
                loop.call_soon_threadsafe(_settle, future, answer, problem)
            except RuntimeError:
                return  # the loop has ended: nobody waits any more


def _settle(future: asyncio.Future[Any], answer: object, problem: Exception | None) -> None:
    if future.done():
        return
    if problem is None:
        future.set_result(answer)
    else:
        future.set_exception(problem)
