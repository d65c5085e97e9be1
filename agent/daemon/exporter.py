"""Prometheus asks here: GET /metrics on a loopback address, answered from what is ready."""

import asyncio
from collections.abc import Callable

from agent.daemon.log import Log

TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Exporter:
    """Serves the newest page; *page* returns bytes that are ready, so that no scrape costs work."""

    def __init__(self, address: str, page: Callable[[], bytes], log: Log) -> None:
        host, _, port = address.rpartition(":")
        self._host = host.strip("[]")
        self._port = int(port)
        self._page = page
        self._log = log

    async def run(self) -> None:
        """Serve for ever; a port that is taken is tried again by who supervises."""
        # A service that is turned off in the settings is not paid for.
        from aiohttp import web  # noqa: PLC0415 - 17 MiB, see above

        async def metrics(_: web.BaseRequest) -> web.StreamResponse:
            return web.Response(body=self._page(), headers={"Content-Type": TYPE})

        app = web.Application()
        app.router.add_get("/metrics", metrics)
        runner = web.AppRunner(
            app,
            access_log=None,
            keepalive_timeout=30.0,
            # A scraper that keeps its connection must not hold up the agent's end.
            shutdown_timeout=0.5,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._host, self._port, backlog=16)
            await site.start()
            self._log.info("metrics_served", address=f"{self._host}:{self._port}")
            await asyncio.get_running_loop().create_future()
        finally:
            await runner.cleanup()
