"""The server as a process: sites, signals, housekeeping, systemd."""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog
from aiohttp import web

from aggregator.app import runner
from aggregator.errors import Mistake
from aggregator.service import Aggregator
from aggregator.settings import Settings
from aggregator.store.protocol import StoreError
from aggregator.store.sqlite.store import AT_ONCE, SqliteStore
from aggregator.tls import Certificates

FILE = "gpudiag.db"
WATCH_S = 60.0
EXPIRE_S = 600.0
log = structlog.get_logger()


class Server:
    """One run of the server; `read` gives the settings anew at SIGHUP."""

    def __init__(
        self, settings: Settings, store: SqliteStore, read: Callable[[], Settings]
    ) -> None:
        self.settings = settings
        self.read = read
        self.aggregator = Aggregator(store, time.time, places=settings.places)
        self.certificates = Certificates(settings.tls) if settings.tls else None
        self.stop = asyncio.Event()
        self.reload = asyncio.Event()
        # Files are looked at beside the loop; these are local ones of /etc.
        self._files = ThreadPoolExecutor(1, "files")

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop.set)
        loop.add_signal_handler(signal.SIGHUP, self.reload.set)
        await self.aggregator.start()
        serving = runner(self.aggregator)
        await serving.setup()
        try:
            await self._listen(serving)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._reloads()), group.create_task(self._expires())]
                await self.stop.wait()
                tell("STOPPING=1")
                for task in tasks:
                    task.cancel()
        finally:
            await serving.cleanup()
            await self.aggregator.store.close()
            self._files.shutdown(wait=False)
        log.info("stopped")

    async def _listen(self, serving: web.AppRunner) -> None:
        host, port = self.settings.address()
        context = self.certificates.context if self.certificates else None
        site = web.TCPSite(serving, host, port, ssl_context=context, backlog=4096)
        try:
            await site.start()
        except OSError as problem:
            raise Mistake(
                f"cannot listen on {self.settings.listen}: {os.strerror(problem.errno or 0)}",
                "stop what listens there, or give another --listen",
            ) from None
        log.info("listening", address=self.settings.listen, tls=context is not None)
        tell(f"READY=1\nSTATUS=listening on {self.settings.listen}")

    async def _reloads(self) -> None:
        """Reload at SIGHUP, and when a certificate's file was exchanged."""
        loop = asyncio.get_running_loop()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WATCH_S):
                    await self.reload.wait()
            if self.reload.is_set():
                self.reload.clear()
                tell(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
                await self._reload()
                tell("READY=1")
            elif await loop.run_in_executor(self._files, self._exchanged):
                await self._reload()

    def _exchanged(self) -> bool:
        return self.certificates is not None and self.certificates.changed()

    async def _reload(self) -> None:
        """Take new settings and certificates; the last good ones go on where they are broken."""
        loop = asyncio.get_running_loop()
        try:
            settings = await loop.run_in_executor(self._files, self.read)
            if self.certificates is not None:
                await loop.run_in_executor(self._files, self.certificates.reload)
        except Mistake as mistake:
            log.error("reload refused, the last good settings go on", error=mistake.what)  # noqa: TRY400 - the sentence is enough
            return
        self.aggregator.places = settings.places
        log.info("reloaded", places=len(settings.places), tls=self.certificates is not None)

    async def _expires(self) -> None:
        """Remove what is too old, in pieces, so that no report waits for it."""
        aggregator = self.aggregator
        while True:
            try:
                gone = await aggregator.store.expire(
                    aggregator.clock(), self.settings.keep_days * 86_400
                )
            except StoreError as problem:
                log.error("nothing could be removed", error=str(problem))  # noqa: TRY400 - the sentence is enough
                gone = 0
            await asyncio.sleep(1.0 if gone >= AT_ONCE else EXPIRE_S)


def tell(state: str) -> None:
    """Send a state to systemd, where it started us."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        sender.settimeout(0)
        with contextlib.suppress(OSError):
            sender.sendto(state.encode(), f"\0{address[1:]}" if address[0] == "@" else address)
