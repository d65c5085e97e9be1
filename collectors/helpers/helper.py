"""The parent side of one helper process: a deadline for each question, a way to let go of it."""

import asyncio
import contextlib
import json
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from collectors.facts.observation import Cause, Missing
from collectors.helpers.children.loop import ANSWER_CAP

TERM_S = 2.0
MOST_STUCK = 2

Where = Callable[[int], Awaitable[str]]


class Helper:
    """One child at a time for one resource, one question at a time.

    A late answer costs the child its life: TERM, 2 s, KILL. A child that KILL does not end sits in
    the kernel; it is left behind and counted, and after two of them no other is started, so that a
    dead driver costs a few processes and not one a minute.
    """

    def __init__(self, resource: str, argv: Sequence[str], where: Where | None = None) -> None:
        self.resource = resource
        self._argv = tuple(argv)
        self._where = where
        self._child: asyncio.subprocess.Process | None = None
        self._left: list[asyncio.subprocess.Process] = []
        self._lock = asyncio.Lock()

    @property
    def stuck(self) -> int:
        """Return how many ended children the kernel still holds."""
        self._left = [child for child in self._left if child.returncode is None]
        return len(self._left)

    async def ask(self, verb: str, /, *, deadline_s: float, **args: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the verb's answer, or Missing with the reason and where the call stood."""
        started = False
        try:
            async with asyncio.timeout(deadline_s), self._lock:
                if self.stuck >= MOST_STUCK:
                    return self._missing(
                        verb, Cause.TIMEOUT, f"{self.stuck} helpers are stuck in the kernel already"
                    )
                started = True
                reply = json.loads(await self._exchange(verb, args))
                started = False
        except TimeoutError:
            return await self._late(verb, deadline_s, mine=started)
        except (OSError, EOFError) as problem:
            self._let_go()
            return self._missing(verb, Cause.CRASHED, str(problem))
        except ValueError as problem:
            self._let_go()
            return self._missing(verb, Cause.GARBLED, str(problem)[:200])
        except asyncio.CancelledError:
            if started:
                self._let_go()
            raise
        if "missing" in reply:
            return self._missing(verb, Cause(reply["missing"]), str(reply["detail"]))
        return reply["ok"]

    async def _exchange(self, verb: str, args: dict[str, Any]) -> bytes:
        if self._child is None or self._child.returncode is not None:
            self._child = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=ANSWER_CAP + 1024,
                start_new_session=True,
            )
        child = self._child
        if child.stdin is None or child.stdout is None:
            raise EOFError("the helper has no pipes")
        child.stdin.write(json.dumps({"verb": verb, "args": args}).encode() + b"\n")
        await child.stdin.drain()
        line = await child.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the helper left without an answer")
        return line

    async def _late(self, verb: str, deadline_s: float, *, mine: bool) -> Missing:
        """Say where the call stands, and let go of its child if it was ours."""
        child = self._child
        stuck = None
        if mine and child is not None and self._where is not None:
            stuck = await self._where(child.pid)
        if mine:
            self._let_go()
        return self._missing(verb, Cause.TIMEOUT, f"no answer in {deadline_s:g} s", stuck)

    def _let_go(self) -> None:
        child, self._child = self._child, None
        if child is None or child.returncode is not None:
            return
        self._left.append(child)
        _signal(child, signal.SIGTERM)
        asyncio.get_running_loop().call_later(TERM_S, _signal, child, signal.SIGKILL)

    def _missing(
        self, verb: str, cause: Cause, detail: str, stuck: str | None = None
    ) -> Missing:
        what = self.resource if self.resource == verb else f"{verb} of {self.resource}"
        return Missing(what=what, cause=cause, detail=detail, stuck=stuck)

    async def close(self) -> None:
        """End the child; wait for those that can still die, leave the others behind."""
        self._let_go()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERM_S + 1.0):
                for child in tuple(self._left):
                    await child.wait()


def _signal(child: asyncio.subprocess.Process, number: signal.Signals) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(number)
