"""How a helper is reached: as a child of ours, or over the socket of the reader's unit."""

import asyncio
import contextlib
import json
import signal
from collections.abc import Sequence
from typing import Protocol, Self

from collectors.helpers.children.loop import ANSWER_CAP

TERM_S = 2.0
LIMIT = ANSWER_CAP + 1024


class Unreachable(Exception):  # noqa: N818 - what it says of the other side
    """Nobody is there who would answer us; the message is one clause."""


class Link(Protocol):
    """One helper at the other end of a pair of streams."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    pid: int | None

    @property
    def gone(self) -> bool:
        """Return whether the helper has ended."""
        ...

    def end(self) -> None:
        """Let go of it: ask it to end now, force it after 2 s, never wait here."""
        ...

    async def ended(self) -> None:
        """Wait until it is gone."""
        ...


class Child:
    """A child process: TERM, 2 s, KILL; it may stay in the kernel all the same."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        self.reader = process.stdout
        self.writer = process.stdin
        self.pid: int | None = process.pid
        self._process = process

    @classmethod
    async def start(cls, argv: Sequence[str]) -> Self:
        """Start the helper's program in a session of its own."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LIMIT,
            start_new_session=True,
        )
        return cls(process)

    @property
    def gone(self) -> bool:
        """Return whether it has ended and been reaped."""
        return self._process.returncode is not None

    def end(self) -> None:
        """Send TERM, and KILL after 2 s."""
        self._signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(TERM_S, self._signal, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if not self.gone:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def ended(self) -> None:
        """Wait until it is reaped."""
        await self._process.wait()


class Connection:
    """A connection to the reader's unit; closing it makes the unit end the work behind it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.pid: int | None = None

    @classmethod
    async def open(cls, path: str) -> Self:
        """Connect, and hear whether we may ask: the unit speaks first."""
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=LIMIT)
        except (FileNotFoundError, ConnectionRefusedError):
            raise Unreachable("no reader is running") from None
        try:
            _welcome(await reader.readline())
        except BaseException:
            # Whoever is cancelled or times out here never learns of the connection.
            writer.close()
            raise
        return cls(reader, writer)

    @property
    def gone(self) -> bool:
        """Return whether either side has closed."""
        return self.writer.is_closing() or self.reader.at_eof()

    def end(self) -> None:
        """Close our side."""
        self.writer.close()

    async def ended(self) -> None:
        """Wait until the socket is closed."""
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


def _welcome(line: bytes) -> None:
    """Raise Unreachable where the unit's first line is no greeting."""
    greeting = json.loads(line or b"{}")
    if "ok" not in greeting:
        raise Unreachable(str(greeting.get("detail", "the reader closed at once"))[:200])
