"""The server process is killed at random moments under load: nothing acknowledged is lost."""

import asyncio
import os
import random
import signal
import socket
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from subprocess import DEVNULL, Popen

import aiohttp
import pytest

from aggregator import credentials
from aggregator.store.sqlite import access
from aggregator.store.sqlite.migrations import connect, migrate
from tests.aggregator.reports import lines, report, snapshot

NODES = 8
KILLS = int(os.environ.get("GPUDIAG_KILLS", "5"))


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """Make the database with a credential for each node."""
    path = tmp_path / "gpudiag.db"
    migrate(path)
    made = [credentials.make("node", f"n{n}", 0, 2**33, node=f"n{n}") for n in range(NODES)]
    with closing(connect(path)) as connection:
        for token, _ in made:
            access.put(connection, token)
    return [text for _, text in made]


class Fleet:
    """Nodes that send until each batch is acknowledged, and sometimes send one twice."""

    def __init__(self, port: int, texts: list[str]) -> None:
        self.port = port
        self.texts = texts
        self.acknowledged: set[tuple[str, int]] = set()
        self.counted: Counter[str] = Counter()
        self.ending = False

    async def node(self, number: int) -> None:
        """Send batches of three as one node."""
        name, chance = f"n{number}", random.Random(number)  # noqa: S311 - chance of a test, repeatable
        headers = {"Authorization": f"Bearer {self.texts[number]}"}
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self.port}") as client:
            sequence = 0
            while not self.ending:
                batch = [snapshot(sequence + n, node=name, parts=()) for n in range(2)]
                batch.append(report(sequence + 2, node=name))
                if await self.sent(client, headers, lines(batch)):
                    self.acknowledged |= {(name, sequence), (name, sequence + 1)}
                    if chance.random() < 0.2:
                        await self.sent(client, headers, lines(batch))
                    sequence += 3

    async def sent(
        self, client: aiohttp.ClientSession, headers: dict[str, str], body: bytes
    ) -> bool:
        """Post once; False where no acknowledgement came."""
        try:
            async with client.post("/v1/reports", data=body, headers=headers) as answer:
                receipt = await answer.json()
                self.counted.update({k: receipt.get(k, 0) for k in ("accepted", "duplicates")})
                return answer.status == 200
        except (aiohttp.ClientError, OSError):
            await asyncio.sleep(0.02)
            return False


async def started(folder: Path, port: int) -> Popen[bytes]:
    """Start the server and return when it is ready."""
    argv = [sys.executable, "-I", "-m", "aggregator", "serve"]
    options = ["--data", str(folder), "--listen", f"127.0.0.1:{port}"]
    process = Popen([*argv, *options], stderr=DEVNULL)  # noqa: ASYNC220 - it has to start now
    async with asyncio.timeout(30), aiohttp.ClientSession() as client:
        while True:
            try:
                async with client.get(f"http://127.0.0.1:{port}/readyz") as answer:
                    if answer.status == 200:
                        return process
            except (aiohttp.ClientError, OSError):
                await asyncio.sleep(0.05)


@pytest.mark.serial
@pytest.mark.timeout(60 + 10 * KILLS)
async def test_killed(tmp_path: Path, texts: list[str]) -> None:
    """kill -9 under load, again and again: what was acknowledged is there, each once."""
    port, chance = free_port(), random.Random(7)  # noqa: S311 - chance of a test, repeatable
    fleet = Fleet(port, texts)
    process = await started(tmp_path, port)
    async with asyncio.TaskGroup() as group:
        for number in range(NODES):
            group.create_task(fleet.node(number))
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.2, 0.8))
            process.send_signal(signal.SIGKILL)
            process.wait()
            process = await started(tmp_path, port)
        await asyncio.sleep(0.3)
        fleet.ending = True
    process.terminate()
    assert 0 == process.wait(10)
    with closing(sqlite3.connect(tmp_path / "gpudiag.db")) as connection:
        stored = Counter(connection.execute("SELECT node, sequence FROM reports"))
        sound = connection.execute("PRAGMA integrity_check").fetchone()
    assert (set(), [], ("ok",)) == (
        fleet.acknowledged - set(stored),
        [key for key, times in stored.items() if times > 1],
        sound,
    )
    assert len(fleet.acknowledged) > 20 * KILLS
