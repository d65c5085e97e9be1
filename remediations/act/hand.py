"""The client of the actor's socket: one question, one answer, one sentence where it says no."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import msgspec

from collectors.helpers.children.loop import ANSWER_CAP
from collectors.helpers.link import Connection, Unreachable

SOCKET = "/run/gpudiag/actor.sock"
ASK_S = 10.0


class Done(msgspec.Struct, frozen=True):
    """The actor did what was asked; `value` is its answer."""

    value: Any


class Objection(msgspec.Struct, frozen=True):
    """The actor did not, and says why.

    `lost` tells that nobody knows whether it was done: it did not answer in time, or went away.
    """

    why: str
    lost: bool = False


class Hand(Protocol):
    """Whoever does one verb."""

    async def ask(
        self, verb: str, args: Mapping[str, Any], *, deadline_s: float = ASK_S
    ) -> Done | Objection:
        """Return what came of it; never raises for what the other side does."""
        ...


class Actor(Hand, Protocol):
    """The actor: who holds its attention is alone in acting."""

    def attended(self) -> AbstractAsyncContextManager[Objection | None]:
        """Be the one who acts, for as long as the block; yield why not, where another is."""
        ...


class ActorHand:
    """The actor of this node; a connection for each question, so that none outlives its answer."""

    def __init__(self, path: str = SOCKET) -> None:
        self._path = path

    async def ask(
        self, verb: str, args: Mapping[str, Any], *, deadline_s: float = ASK_S
    ) -> Done | Objection:
        """Return what came of it; never raises for what the other side does."""
        asked = False
        try:
            async with asyncio.timeout(deadline_s):
                link = await Connection.open(self._path)
                try:
                    link.writer.write(json.dumps({"verb": verb, "args": dict(args)}).encode())
                    link.writer.write(b"\n")
                    asked = True
                    await link.writer.drain()
                    line = await link.reader.readline()
                finally:
                    link.end()
        except Unreachable as problem:
            return Objection(str(problem).replace("reader", "actor"))
        except TimeoutError:
            return Objection(f"the actor gave no answer to {verb} in {deadline_s:g} s", lost=asked)
        except (OSError, ValueError) as problem:
            return Objection(f"the actor: {problem}"[:ANSWER_SHOWN], lost=asked)
        return _read(verb, line)

    @asynccontextmanager
    async def attended(self) -> AsyncIterator[Objection | None]:
        """Be the one who acts, for as long as the block; yield why not, where another is.

        It ends with the connection, and so with our own end, whatever it is.
        """
        link: Connection | None = None
        try:
            async with asyncio.timeout(ASK_S):
                link = await Connection.open(self._path)
                link.writer.write(b'{"verb": "attend", "args": {}}\n')
                answer = _read("attend", await link.reader.readline())
        except (Unreachable, TimeoutError, OSError, ValueError) as problem:
            why = str(problem).replace("reader", "actor") or "the actor gave no answer"
            answer = Objection(why)
        try:
            yield answer if isinstance(answer, Objection) else None
        finally:
            # Also one that gave no answer in time: it would keep everybody else from acting.
            if link is not None:
                link.end()

    async def there(self) -> bool:
        """Return whether an actor answers us."""
        return isinstance(await self.ask("state", {}), Done)


ANSWER_SHOWN = 500


def _read(verb: str, line: bytes) -> Done | Objection:
    if not line.endswith(b"\n") or len(line) > ANSWER_CAP:
        return Objection(f"the actor went away while it did {verb}", lost=True)
    try:
        reply = json.loads(line)
        if "ok" in reply:
            return Done(reply["ok"])
        lost = reply["missing"] == "crashed"
        return Objection(str(reply["detail"])[:ANSWER_SHOWN], lost=lost)
    except (ValueError, TypeError, KeyError):
        return Objection(f"the actor's answer to {verb} cannot be read", lost=True)
