"""An aggregator on loopback over a store of its own, with a clock that the test moves."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from aggregator import credentials
from aggregator.api.bounds import Bounds
from aggregator.app import runner
from aggregator.service import Aggregator
from aggregator.settings import Place
from aggregator.store.protocol import Store
from aggregator.store.records import Role
from aggregator.store.sqlite import SqliteStore
from tests.aggregator.reports import NOW


def sqlite(folder: Path) -> Callable[[], Store]:
    """Prepare a store on SQLite; return what opens it."""
    path = folder / "gpudiag.db"
    SqliteStore.prepare(path)
    return partial(SqliteStore, path)


STORES: dict[str, Callable[[Path], Callable[[], Store]]] = {"sqlite": sqlite}
"""Every store that there is: one more gets its row here, and with it all tests."""

PLACES = (Place(nodes=("gpu-00?",), rack="r01", rails=("su1-0",)),)
SMALL = Bounds(sent=200_000, unpacked=1_000_000, lines=50, line=100_000, seconds=0.3)


class Box:
    """The served aggregator with its store, clock, and a client."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self.now = NOW
        self.open_store = open_store
        self.bounds = SMALL

    async def start(self) -> None:
        """Serve."""
        self.store = self.open_store()
        self.aggregator = Aggregator(
            self.store, lambda: self.now, bounds=self.bounds, places=PLACES
        )
        await self.aggregator.start()
        self.runner = runner(self.aggregator, idle_s=0.5)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port: int = self.runner.addresses[0][1]
        self.client = aiohttp.ClientSession(f"http://127.0.0.1:{self.port}")

    async def stop(self) -> None:
        """Stop serving; the store's files stay."""
        await self.client.close()
        await self.runner.cleanup()
        await self.store.close()

    async def restart(self) -> None:
        """Stop and serve again."""
        await self.stop()
        await self.start()

    async def credential(self, role: Role, node: str | None = None, **facts: Any) -> dict[str, str]:
        """Return the header of a new credential that lives for a day."""
        token, text = credentials.make(role, node or role, self.now, 86_400, node=node, **facts)
        await self.store.put_token(token)
        return {"Authorization": f"Bearer {text}"}

    async def send(
        self, method: str, path: str, headers: dict[str, str] | None = None, **how: Any
    ) -> tuple[int, Any]:
        """Return status and JSON of an answer."""
        async with self.client.request(method, path, headers=headers, **how) as answer:
            body = await answer.read()
            return answer.status, (await answer.json(content_type=None)) if body else None


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Return what opens each store."""
    return STORES[request.param](tmp_path)


@pytest.fixture
async def box(open_store: Callable[[], Store]) -> AsyncIterator[Box]:
    """Serve for one test."""
    box = Box(open_store)
    await box.start()
    yield box
    await box.stop()


@pytest.fixture
async def store(open_store: Callable[[], Store]) -> AsyncIterator[Store]:
    """Open a store for one test."""
    opened = open_store()
    yield opened
    await opened.close()
