"""Run one tool: absolute path, no shell, a deadline, a cap on output, nothing left behind."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from typing import cast

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing

OUTPUT_CAP = 1 << 20
DRAIN_S = 0.2
TERM_S = 2.0
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "HOME": "/"}


class Family(asyncio.SubprocessProtocol):
    """A tool and its children: one process group, its first megabyte of each stream kept."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.kept = {1: bytearray(), 2: bytearray()}
        self.done: asyncio.Future[None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()
        self.transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what fits under the cap, drop the rest so that the tool can go on."""
        self.kept[fd] += data[: OUTPUT_CAP - len(self.kept[fd])]

    def process_exited(self) -> None:
        """End what the tool left behind."""
        # A child of the tool may hold its pipes open for ever: end the group, drain, go on.
        self.signal(signal.SIGKILL)
        if not self.gone.done():
            self.gone.set_result(None)
        asyncio.get_running_loop().call_later(DRAIN_S, self._finish)

    def connection_lost(self, exc: Exception | None) -> None:
        """Be done: the tool and its pipes are gone."""
        del exc
        self._finish()

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def signal(self, number: signal.Signals) -> None:
        """Send *number* to the whole group."""
        if self.transport is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.transport.get_pid(), number)

    def end(self) -> None:
        """Send TERM now and KILL after 2 s, unless the tool has gone by then."""
        if not self.gone.done():
            self.signal(signal.SIGTERM)
            asyncio.get_running_loop().call_later(TERM_S, self._kill)

    def _kill(self) -> None:
        if not self.gone.done():
            self.signal(signal.SIGKILL)


class Commands:
    """Runs tools, and remembers those that would not end."""

    def __init__(self) -> None:
        self._ending: list[tuple[str, Family]] = []

    def stuck(self, tool: str) -> int:
        """Return how many ended runs of *tool* the kernel still holds."""
        self._ending = [(name, family) for name, family in self._ending if not family.gone.done()]
        return sum(name == tool for name, _ in self._ending)

    async def run(self, argv: Sequence[str], *, deadline_s: float) -> Output | Missing:
        """Return what the tool printed, or Missing."""
        tool = argv[0].rpartition("/")[2]
        if self.stuck(tool):
            detail = "an earlier run of it does not end; no other is started"
            return Missing(what=tool, cause=Cause.TIMEOUT, detail=detail)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            transport, family = await loop.subprocess_exec(
                Family,
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                env=ENVIRONMENT,
                start_new_session=True,
            )
        except FileNotFoundError:
            return Missing(what=tool, cause=Cause.NO_TOOL, detail=f"{argv[0]} is not installed")
        except OSError as problem:
            detail = f"{argv[0]}: {problem.strerror}"
            cause = Cause.DENIED if isinstance(problem, PermissionError) else Cause.CRASHED
            return Missing(what=tool, cause=cause, detail=detail)
        try:
            async with asyncio.timeout(deadline_s):
                await family.done
        except TimeoutError:
            detail = f"{' '.join(argv)[:120]} did not end in {deadline_s:g} s"
            return Missing(what=tool, cause=Cause.TIMEOUT, detail=detail)
        finally:
            self._let_go(tool, family, transport)
        return Output(
            argv=tuple(argv),
            status=transport.get_returncode() or 0,
            stdout=family.kept[1].decode("utf-8", "backslashreplace"),
            stderr=family.kept[2].decode("utf-8", "backslashreplace"),
            seconds=loop.time() - began,
        )

    def _let_go(self, tool: str, family: Family, transport: asyncio.SubprocessTransport) -> None:
        if family.gone.done():
            transport.close()
            return
        self._ending.append((tool, family))
        family.gone.add_done_callback(lambda _: transport.close())
        family.end()

    async def close(self) -> None:
        """Wait for those that can still die."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERM_S + 1.0):
                for _, family in tuple(self._ending):
                    await asyncio.shield(family.gone)
