"""One helper for one resource: a deadline for each question, and a way to let go of it."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.helpers.link import TERM_S, Link, Unreachable
from collectors.helpers.turn import Turn

# Two, where one would do for what hangs as a whole: the first that hangs in a call of the driver
# tells by that on which GPU, and it takes a second to ask all others and leave that one out. Where
# it hangs too, the driver itself does, and nothing is to be had from a third.
MOST_STUCK = 2

Open = Callable[[], Awaitable[Link]]
Where = Callable[[int], Awaitable[str]]
GiveBack = Callable[[Link], None]


def _decoded(line: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return what an answer says; raises ValueError.

    The quick way refuses what the other takes: half a surrogate, of a file's name in no encoding.
    """
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return json.loads(line)


class Helper:
    """One helper process at a time, one question at a time.

    A late answer costs the process its life. One that KILL does not end sits in the kernel; it is
    left behind and counted, and after two of them no other is started, so that a dead driver costs
    a few processes and not one a minute. *where* tells where in the kernel a late one stands. With
    *turn* no other program asks meanwhile. With *give_back* the process is kept no longer than a
    question takes, and then handed to it.
    """

    def __init__(
        self,
        resource: str,
        link: Open,
        where: Where | None = None,
        give_back: GiveBack | None = None,
        turn: Turn | None = None,
    ) -> None:
        self.resource = resource
        self._open = link
        self._where = where
        self._give_back = give_back
        self._turn = turn
        self._link: Link | None = None
        self._left: list[Link] = []
        self._lock = asyncio.Lock()
        self._used = 0.0
        self._held_back: str | None = None

    @property
    def pid(self) -> int | None:
        """Return the process that answers now; None where there is none, or it is not ours."""
        return self._link.pid if self._link is not None and not self._link.gone else None

    @property
    def held_back(self) -> bool:
        """Return whether questions are refused for now."""
        return self._held_back is not None

    @property
    def left_behind(self) -> tuple[int, ...]:
        """Return the processes that were let go of and are still there."""
        return tuple(link.pid for link in self._left if not link.gone and link.pid is not None)

    @property
    def stuck(self) -> int:
        """Return how many helpers that were let go of are still there."""
        self._left = [link for link in self._left if not link.gone]
        return len(self._left)

    async def ask(self, verb: str, /, *, deadline_s: float, **args: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the verb's answer, or Missing with the reason and where the call stood."""
        asked = False
        try:
            async with asyncio.timeout(deadline_s), self._lock, self._alone():
                if (refused := self._refused(verb)) is not None:
                    return refused
                asked = True
                reply = _decoded(await self._exchange(verb, args))
                asked = False
                self._hand_back()
        except TimeoutError:
            stuck = await self._parted() if asked else None
            return self._missing(verb, Cause.TIMEOUT, self._late(deadline_s), stuck)
        except Unreachable as problem:
            return self._missing(verb, Cause.DENIED, str(problem))
        except (OSError, EOFError) as problem:
            return self._missing(verb, Cause.CRASHED, str(problem))
        except ValueError as problem:
            return self._missing(verb, Cause.GARBLED, str(problem)[:200])
        finally:
            if asked:
                self._let_go()
        return await self._read(verb, reply)

    def _alone(self) -> contextlib.AbstractAsyncContextManager[None]:
        return contextlib.nullcontext() if self._turn is None else self._turn.held()

    def _late(self, deadline_s: float) -> str:
        if self._turn is not None and self._turn.elsewhere:
            return f"another program of gpudiag has been asking it for {deadline_s:g} s"
        return f"no answer in {deadline_s:g} s"

    def _refused(self, verb: str) -> Missing | None:
        if self._held_back is not None:
            return self._missing(verb, Cause.HELD_BACK, self._held_back)
        if self.stuck >= MOST_STUCK:
            detail = f"{self.stuck} helpers are stuck in the kernel already"
            return self._missing(verb, Cause.TIMEOUT, detail)
        return None

    async def _read(self, verb: str, reply: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(reply, dict) and "stuck" in reply:
            return await self._gave_up(verb, reply)
        if isinstance(reply, dict) and "ok" in reply:
            return reply["ok"]
        try:
            return self._missing(verb, Cause(reply["missing"]), str(reply["detail"])[:500])
        except (KeyError, TypeError, ValueError):
            return self._missing(verb, Cause.GARBLED, "an answer that is neither ok nor missing")

    async def _exchange(self, verb: str, args: dict[str, Any]) -> bytes:
        if self._link is None or self._link.gone:
            self._link = await self._open()
            if self._held_back is not None:
                self._let_go()
                raise EOFError(self._held_back)
        self._used = asyncio.get_running_loop().time()
        link = self._link
        link.writer.write(json.dumps({"verb": verb, "args": args}).encode() + b"\n")
        await link.writer.drain()
        line = await link.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the helper left without an answer")
        return line

    def _hand_back(self) -> None:
        link = self._link
        if self._give_back is not None and link is not None:
            self._link = None
            self._give_back(link)

    def rest(self, idle_s: float) -> bool:
        """End a helper that nobody asked for *idle_s*; return whether nothing is left of it."""
        if self._lock.locked():
            return False
        if asyncio.get_running_loop().time() - self._used >= idle_s:
            self._let_go()
        return self._link is None and not self.stuck and self._held_back is None

    async def hold_back(self, why: str | None) -> None:
        """Answer every question with *why* and end the helper; with None, answer again.

        A question that waits is refused; one that was asked already loses its answer.
        """
        self._held_back = why
        if why is not None:
            await self.close()

    async def _gave_up(self, verb: str, reply: dict[str, Any]) -> Missing:
        """Return what a helper says of itself that hangs in a call, and let go of it."""
        where = await self._parted()
        call = str(reply["stuck"])[:200]
        detail = str(reply.get("detail", call))[:500]
        return self._missing(verb, Cause.TIMEOUT, detail, f"{call}; {where}" if where else call)

    async def _parted(self) -> str | None:
        """Let go of the helper and return where it stands; nobody else asks it meanwhile."""
        link, self._link = self._link, None
        try:
            pid = link.pid if link is not None else None
            return await self._where(pid) if pid is not None and self._where else None
        finally:
            self._end(link)

    def _let_go(self) -> None:
        link, self._link = self._link, None
        self._end(link)

    def _end(self, link: Link | None) -> None:
        if link is not None and not link.gone:
            self._left.append(link)
            link.end()

    def _missing(self, verb: str, cause: Cause, detail: str, stuck: str | None = None) -> Missing:
        what = verb if self.resource in {verb, ""} else f"{verb} of {self.resource}"
        return Missing(what=what, cause=cause, detail=detail, stuck=stuck)

    async def close(self) -> None:
        """End the helper; wait for those that can still die, leave the others behind."""
        self._let_go()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERM_S + 1.0):
                for link in tuple(self._left):
                    await link.ended()
