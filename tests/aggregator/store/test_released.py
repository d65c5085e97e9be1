"""Databases and reports of every released schema: this release reads them as they were left."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from aggregator.store.sqlite import SqliteStore, migrations
from tests.aggregator.conftest import Box
from tests.aggregator.reports import NOW

RELEASED = Path(__file__).parent / "released"
DATABASES = sorted(RELEASED.glob("schema-*.sql"))
REPORTS = sorted(RELEASED.glob("report-*.ndjson"), key=lambda path: path.stem)


def laid_out(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the tables and indices of a database, as SQLite keeps them."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return sorted((name, " ".join(sql.split())) for name, sql in rows)


@pytest.fixture(params=DATABASES, ids=lambda path: path.stem)
def left(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a database as that release left it."""
    path = tmp_path / "gpudiag.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(request.param.read_text())
    return path


def test_every_schema_is_recorded() -> None:
    """A schema that was released has its database here, so that a step is tried on true data."""
    newest = len(migrations.MIGRATIONS)
    assert [f"schema-{n}" for n in range(1, newest + 1)] == [path.stem for path in DATABASES]


def test_it_becomes_the_newest(left: Path, tmp_path: Path) -> None:
    """Migrated, it has the very tables of a new database."""
    SqliteStore.prepare(left)
    SqliteStore.prepare(tmp_path / "new.db")
    with (
        closing(sqlite3.connect(left)) as old,
        closing(sqlite3.connect(tmp_path / "new.db")) as new,
    ):
        assert laid_out(new) == laid_out(old)


async def test_nothing_is_lost(left: Path) -> None:
    """Node, findings, parts, history, credentials, lease and switches are as they were left."""
    await asyncio.to_thread(SqliteStore.prepare, left)
    store = SqliteStore(left)
    node = await store.node("gpu-001", NOW)
    assert node is not None
    history = await store.history("gpu-001", 2**62, 10)
    (enrolment,) = await store.enrolments()
    (lease,) = await store.leases(NOW + 60)
    breaker = await store.switch("breaker")
    (maintenance,) = await store.maintenances(NOW)
    tokens = await store.tokens()
    await store.close()
    assert ("fault", ["gpu_lost"], ["BRD-77", "1650123000001"], {"driver": "580.65.06"}) == (
        node.record.verdict,
        [finding["fault"] for finding in node.findings],
        [part.serial for part in node.parts],
        node.versions,
    )
    assert ([2, 1], "gpu-001", "node.reboot", True, "new fans", ["join", "node"]) == (
        [past.sequence for past in history.items],
        enrolment.node,
        lease.remedy,
        breaker is not None and breaker.on,
        maintenance.reason,
        sorted(token.role for token in tokens),
    )


@pytest.mark.parametrize("recorded", REPORTS, ids=lambda path: path.stem)
async def test_reports_of_a_release_are_taken(box: Box, recorded: Path) -> None:
    """An agent of that release, older or newer by a minor version, is heard as it was."""
    headers = await box.credential("node", "gpu-001")
    body = recorded.read_bytes()  # noqa: ASYNC240 - a small file of the test
    status, receipt = await box.send("POST", "/v1/reports", headers, data=body)
    node = (await box.send("GET", "/v1/nodes/gpu-001", await box.credential("viewer")))[1]
    assert (200, {"accepted": body.count(b"\n")}, "fault", ["gpu_lost", "ib_port_down"], 2) == (
        status,
        receipt,
        node["verdict"],
        [finding["fault"] for finding in node["findings"]],
        len(node["parts"]),
    )


def test_every_report_schema_is_recorded() -> None:
    """The report of each schema is here, with and without what later minor versions add."""
    assert ["report-1", "report-1-later"] == [path.stem for path in REPORTS]
