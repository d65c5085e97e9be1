"""Helpers forked from one process: spoken to and ended as a child is, a fourth of its memory."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from typing import Self

from collectors.helpers.link import LIMIT, TERM_S

FORK_S = 5.0


class Forks:
    """The process that forks; started when the first helper is wanted, and again if it has gone."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self._control: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def start(self, kind: bytes = b"\n") -> "Forked":
        """Return a new helper of one kind; raises OSError, TimeoutError where none starts."""
        ours, its = socket.socketpair()
        ours.settimeout(0)
        try:
            async with asyncio.timeout(FORK_S), self._turn:
                pid = await self._fork(its, kind)
        except BaseException:
            ours.close()
            self._drop()
            raise
        finally:
            its.close()
        return await Forked.open(ours, pid)

    async def _fork(self, its: socket.socket, kind: bytes) -> int:
        if self._control is None or self._process is None or self._process.returncode is not None:
            await self._begin()
        assert self._control is not None
        socket.send_fds(self._control, [kind], [its.fileno()])
        said = await asyncio.get_running_loop().sock_recv(self._control, 64)
        if not said.endswith(b"\n"):
            raise ConnectionResetError("the process that forks helpers has gone")
        return int(said)

    async def _begin(self) -> None:
        self._drop()
        self._control, theirs = socket.socketpair()
        self._control.settimeout(0)
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def pid(self) -> int | None:
        """Return the process, None where it does not run."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if self._process is not None and running else None

    def _drop(self) -> None:
        """Hang up: it ends by that."""
        if self._control is not None:
            self._control.close()
        self._control = None

    async def close(self) -> None:
        """End it."""
        self._drop()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._process.wait()
                return
            self._process.kill()


class Forked:
    """One forked helper: TERM, 2 s, KILL; it may stay in the kernel all the same."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pid: int
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.pid: int | None = pid
        self._gone = asyncio.Event()
        try:
            self._handle = os.pidfd_open(pid)
        except ProcessLookupError:
            self._handle = -1
            self._gone.set()
        else:
            asyncio.get_running_loop().add_reader(self._handle, self._left)

    @classmethod
    async def open(cls, ours: socket.socket, pid: int) -> Self:
        """Take the socket over."""
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LIMIT)
        return cls(reader, writer, pid)

    def _left(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self._gone.set()
        self.writer.close()

    @property
    def gone(self) -> bool:
        """Return whether it has ended."""
        return self._gone.is_set()

    def end(self) -> None:
        """Send TERM, and KILL after 2 s."""
        self._signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(TERM_S, self._signal, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if not self.gone:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    async def ended(self) -> None:
        """Wait until it is gone."""
        await self._gone.wait()
