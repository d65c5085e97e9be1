"""R20: an aggregator that hears a fleet for long grows by nothing but its database."""

import asyncio
import os
from pathlib import Path

import aiohttp
import pytest

from aggregator import credentials
from aggregator.store.sqlite import access
from aggregator.store.sqlite.migrations import connect, migrate
from tests.aggregator.reports import lines, report, snapshot
from tests.aggregator.test_crash import free_port, started

NODES = 40
KILLS = int(os.environ.get("GPUDIAG_KILLS", "5"))
# A round is 30 s of a fleet, a tenth of them with snapshots: 40 min, or more than a day in a soak.
WARM, ROUNDS = 30, 16 * KILLS
MIB = 1 << 20


@pytest.fixture
def tokens(tmp_path: Path) -> list[str]:
    """Make the database with a credential for each node."""
    path = tmp_path / "gpudiag.db"
    migrate(path)
    made = [credentials.make("node", f"n{n}", 0, 2**33, node=f"n{n}") for n in range(NODES)]
    connection = connect(path)
    for token, _ in made:
        access.put(connection, token)
    connection.close()
    return [text for _, text in made]


async def beat(client: aiohttp.ClientSession, tokens: list[str], turn: int) -> None:
    """Let every node report once."""

    async def one(number: int, text: str) -> None:
        name = f"n{number}"
        said = [report(2 * turn, node=name)]
        if turn % 10 == 0:
            said.append(snapshot(2 * turn + 1, node=name, parts=()))
        headers = {"Authorization": f"Bearer {text}"}
        async with client.post("/v1/reports", data=lines(said), headers=headers) as answer:
            assert answer.status == 200

    await asyncio.gather(*(one(number, text) for number, text in enumerate(tokens)))


def size(pid: int) -> tuple[int, int]:
    """Return what of a process is in memory and not a file's, bytes, and its descriptors."""
    status = Path(f"/proc/{pid}/status").read_text()
    rss = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(rss.split()[1]) * 1024, len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.serial
@pytest.mark.timeout(120 + 4 * KILLS)
async def test_hours_of_reports_cost_no_memory_and_no_descriptor(
    tmp_path: Path, tokens: list[str]
) -> None:
    """After warming up: less than 2 MiB more, and not one descriptor."""
    port = free_port()
    process = await started(tmp_path, port)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            for turn in range(WARM):
                await beat(client, tokens, turn)
            before = size(process.pid)
            for turn in range(WARM, WARM + ROUNDS):
                await beat(client, tokens, turn)
            after = size(process.pid)
    finally:
        process.terminate()
        code = process.wait(10)

    assert (0, True, 0) == (code, after[0] - before[0] < 2 * MIB, after[1] - before[1])
