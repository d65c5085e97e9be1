"""The real agent over recordings, by a faster clock: what a test of its processes gives Python.

    python replaying.py NAME SPEED FOLDER RECORDING[,RECORDING] agent ...

Every 60 s of the node's time the next recording is what the node is like, or for as long as it
exists the one whose number is in FOLDER/now. While FOLDER/hold exists nothing goes on, and the
node's clock is two minutes ahead. Delivery that fails is tried again after a second.
"""

import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import msgspec

from agent.cli import agent as daemon
from agent.cli import main, run
from agent.outbox import sender
from agent.settings.load import Settings
from collectors.facts.answers import Files, Output
from collectors.facts.observation import Missing
from collectors.node.protocol import Identity, LogText, Node

TURN_S = 60.0
AHEAD_S = 120.0


class Replayed:
    """A node whose files and answers are recorded, and whose time is real."""

    def __init__(self, name: str, speed: float, folder: Path, recorded: Sequence[Node]) -> None:
        self._name = name
        self._speed = speed
        self._hold = folder / "hold"
        self._chosen = folder / "now"
        self._recorded = recorded

    @property
    def _now(self) -> Node:
        if self._chosen.exists():
            return self._recorded[int(self._chosen.read_text())]
        return self._recorded[int(self.monotonic() / TURN_S) % len(self._recorded)]

    async def identity(self) -> Identity:
        seen = await self._recorded[0].identity()
        boot_id = f"{seen.boot_id}"[:-4] + f"{crc32(self._name.encode()) & 0xFFFF:04x}"
        return msgspec.structs.replace(seen, node=self._name, boot_id=boot_id)

    async def files(
        self,
        *patterns: str,
        names: Sequence[str] = (),
        cap: int = 65_536,
        deadline_s: float = 5.0,
    ) -> Files | Missing:
        return await self._now.files(*patterns, names=names, cap=cap, deadline_s=deadline_s)

    async def command(self, tool: str, *args: str, deadline_s: float) -> Output | Missing:
        return await self._now.command(tool, *args, deadline_s=deadline_s)

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        return await self._now.ask(kind, deadline_s=deadline_s, **args)

    async def log(self, path: str, *, deadline_s: float = 10.0) -> LogText | Missing:
        return await self._now.log(path, deadline_s=deadline_s)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._speed)
        while self._hold.exists():  # noqa: ASYNC110 - a file of another process wakes nobody
            await asyncio.sleep(0.1)

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic() * self._speed + (AHEAD_S if self._hold.exists() else 0.0)

    def branch(self) -> Self:
        return self

    def join(self, branches: Iterable[Self]) -> None:
        pass

    async def close(self) -> None:
        for one in self._recorded:
            await one.close()


def replay(name: str, speed: float, folder: Path, recordings: Sequence[str]) -> None:
    """Have the agent open these recordings where it would open this machine."""

    def open_node(
        replay: str | None, root: str | None, settings: Settings, logs: tuple[str, ...]
    ) -> tuple[Node, Settings, tuple[str, ...]]:
        del replay, root, logs  # the command never gives any
        opened = [run.open_node(each, None, settings, ())[0] for each in recordings]
        return Replayed(name, speed, folder, opened), settings, ()

    vars(daemon)["open_node"] = open_node
    sender.GAP_S /= speed
    sender.LONGEST_S = 1.0


if __name__ == "__main__":
    _, named, fast, place, kept, *words = sys.argv
    replay(named, float(fast), Path(place), kept.split(","))
    sys.argv = ["gpudiag", *words]
    main.main()
