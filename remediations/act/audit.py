"""What was done and refused on this node: one line each, added to a file, and told to the fleet.

    {"time": "...", "node": "gpu-017", "what": "done", "remedy": "slurm.drain", "reason": "..."}

The root helper keeps its own journal; this is the agent's, which also has what was never begun.
What the aggregator does not take is told again with the next line.
"""

import datetime as dt
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from remediations.plan.actions import Action

Send = Callable[[dict[str, Any]], Awaitable[bool]]
Ask = Callable[[Callable[[], Any]], Awaitable[Any]]
MOST_BYTES = 8 << 20
MOST_WORDS = 500
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class Trail:
    """The file `acting.jsonl`, and how much of it the aggregator has: `acting.told`, in bytes.

    *ask* runs what blocks; *send* returns whether the aggregator has it now. `problem` says why
    the file cannot be written.
    """

    def __init__(self, folder: Path, node: Callable[[], str], ask: Ask, send: Send | None) -> None:
        self._path = folder / "acting.jsonl"
        self._told = folder / "acting.told"
        self._node = node
        self._ask = ask
        self._send = send
        self._last: tuple[str, str, str] | None = None
        self.problem: str | None = None

    async def tell(self, action: Action, what: str, reason: str, lease: str | None) -> None:
        """Add one line, and tell what the aggregator does not have yet; never raises."""
        line = {
            "time": dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds"),
            "node": self._node(),
            "what": what,
            "remedy": action.remedy,
            "subject": action.subject,
            "serial": action.serial,
            "fault": action.fault,
            "signature": action.signature,
            "lease": lease or None,
            "reason": reason[:MOST_WORDS] or what,
        }
        news = (action.key, what, reason)
        if what == "untouched" and news == self._last:
            return  # the same refusal each half minute is no news
        self._last = news
        try:
            await self._ask(lambda: _append(self._path, msgspec.json.encode(line) + b"\n"))
            self.problem = None
        except OSError as problem:
            self.problem = f"{self._path}: {problem.strerror}: what is done is not kept"
        await self.flush()

    async def flush(self) -> None:
        """Tell the aggregator what it does not have, in order; stop where it does not take it."""
        if self._send is None:
            return
        try:
            for end, line in await self._ask(self._untold):
                if not await self._send(line):
                    return
                await self._ask(partial(self._told.write_text, str(end)))
        except OSError:
            return  # told again with the next line

    def _untold(self) -> list[tuple[int, dict[str, Any]]]:
        told = int(self._told.read_text() or "0") if self._told.exists() else 0
        text = self._path.read_bytes() if self._path.exists() else b""
        at = told if told <= len(text) else 0
        found = []
        for raw in text[at:].splitlines(keepends=True):
            at += len(raw)
            try:
                line = msgspec.json.decode(raw, type=dict[str, Any])
            except msgspec.DecodeError:
                continue  # torn by a crash
            line.pop("time", None)
            found.append((at, line))
        return found


def _append(path: Path, line: bytes) -> None:
    if path.exists() and path.stat().st_size > MOST_BYTES:
        path.replace(path.with_suffix(".1.jsonl"))
    handle = os.open(path, FLAGS, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
