"""What is SQLite's own: a full disk, many writers in one commit, a copy while it runs."""

import asyncio
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from aggregator.store.protocol import OverloadError, StoreError
from aggregator.store.sqlite import SqliteStore, writer
from tests.aggregator.conftest import Box
from tests.aggregator.reports import NOW, lines, snapshot
from tests.aggregator.store.test_store import arrivals


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Prepare a database."""
    SqliteStore.prepare(tmp_path / "gpudiag.db")
    return tmp_path / "gpudiag.db"


def pages(store: SqliteStore, most: int) -> None:
    """Let the database grow to so many pages and no further, as on a full disk."""

    def bound(connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count = {most}")

    store._writer._queue.put(writer.Item(bound, asyncio.get_running_loop().create_future()))


async def test_full(box: Box) -> None:
    """On a full disk reports are refused, not lost silently; with room again they are taken."""
    assert isinstance(box.store, SqliteStore)
    headers = await box.credential("node", "gpu-001")
    noise = secrets.token_hex(30_000)
    body = lines([snapshot(1, diagnosis={"findings": [], "text": noise})])
    pages(box.store, 1)
    statuses = []
    for sequence in range(200):
        one = body.replace(b'"sequence":1', b'"sequence":%d' % sequence)
        statuses.append((await box.send("POST", "/v1/reports", headers, data=one))[0])
        if statuses[-1] != 200:
            break
    pages(box.store, 1_000_000)
    again = (await box.send("POST", "/v1/reports", headers, data=body))[0]
    history = await box.store.history("gpu-001", 2**62, 1000)
    taken = statuses.count(200)
    assert (503, 200, True) == (statuses[-1], again, len(history.items) in (taken, taken + 1))


async def test_group(path: Path) -> None:
    """Who writes at the same time shares a commit."""
    store = SqliteStore(path)
    await asyncio.gather(*(store.append(arrivals(snapshot(n)), NOW) for n in range(500)))
    commits, _ = store.commits
    await store.close()
    assert commits < 50


async def test_overload(path: Path) -> None:
    """More than may wait is refused at once."""
    store = SqliteStore(path)
    calls = (store.append(arrivals(snapshot(n)), NOW) for n in range(writer.WAITING + 300))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    await store.close()
    refused = [answer for answer in answers if isinstance(answer, OverloadError)]
    taken = [answer for answer in answers if not isinstance(answer, BaseException)]
    assert (True, len(answers)) == (len(refused) > 0, len(refused) + len(taken))


async def test_copy(path: Path) -> None:
    """A copy that is made while it is written to is whole."""
    store = SqliteStore(path)
    copy = path.with_name("copy.db")

    def vacuum(connection: sqlite3.Connection) -> None:
        connection.execute("VACUUM INTO ?", (str(copy),))

    await store.append(arrivals(*(snapshot(n) for n in range(50))), NOW)
    await asyncio.gather(
        store._reader.do(vacuum),
        *(store.append(arrivals(snapshot(n)), NOW) for n in range(50, 99)),
    )
    await store.close()
    with closing(sqlite3.connect(copy)) as found:
        assert [("ok",)] == found.execute("PRAGMA integrity_check").fetchall()
        assert found.execute("SELECT count(*) FROM reports").fetchone()[0] >= 50


async def test_broken_database(path: Path) -> None:
    """A question that the database cannot answer is a StoreError, and the thread lives on."""
    store = SqliteStore(path)

    def wrong(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT * FROM absent")

    with pytest.raises(StoreError, match="no such table: absent"):
        await store._writer.do(wrong)
    await store.ready()
    await store.close()
