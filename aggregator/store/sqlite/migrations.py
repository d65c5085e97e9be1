"""The tables, step by step: one function for each schema number, never changed after a release."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from aggregator.errors import Mistake
from aggregator.store.bodies import unpack

TABLES = (
    """
    CREATE TABLE reports (
        id INTEGER PRIMARY KEY, node TEXT NOT NULL, boot_id TEXT NOT NULL,
        sequence INTEGER NOT NULL, kind TEXT NOT NULL, sent REAL NOT NULL, received REAL NOT NULL,
        verdict TEXT NOT NULL, body BLOB NOT NULL, UNIQUE (node, boot_id, sequence))
    """,
    "CREATE INDEX reports_received ON reports (received)",
    "CREATE INDEX reports_node ON reports (node, id)",
    # What is newest of a node; findings, parts and versions are JSON, zstd.
    """
    CREATE TABLE nodes (
        node TEXT PRIMARY KEY, boot_id TEXT NOT NULL, sequence INTEGER NOT NULL,
        beat INTEGER NOT NULL, verdict TEXT NOT NULL, product TEXT NOT NULL, machine TEXT,
        simulated INTEGER NOT NULL, dropped INTEGER NOT NULL, first_seen REAL NOT NULL,
        received REAL NOT NULL, sent REAL NOT NULL, snapshot_received REAL, findings BLOB,
        parts BLOB, versions BLOB) WITHOUT ROWID
    """,
    """
    CREATE TABLE boots (
        node TEXT NOT NULL, boot_id TEXT NOT NULL, since REAL NOT NULL, received REAL NOT NULL,
        PRIMARY KEY (node, boot_id)) WITHOUT ROWID
    """,
    """
    CREATE TABLE parts (
        kind TEXT NOT NULL, serial TEXT NOT NULL, node TEXT NOT NULL, slot TEXT NOT NULL,
        since REAL NOT NULL, PRIMARY KEY (kind, serial)) WITHOUT ROWID
    """,
    "CREATE INDEX parts_node ON parts (node)",
    """
    CREATE TABLE events (
        id INTEGER PRIMARY KEY, node TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
        time REAL NOT NULL, text TEXT NOT NULL)
    """,
    "CREATE INDEX events_node ON events (node, id)",
    """
    CREATE TABLE tokens (
        id TEXT PRIMARY KEY, digest BLOB NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,
        node TEXT, machine TEXT, created REAL NOT NULL, expires REAL NOT NULL,
        used INTEGER NOT NULL, revoked INTEGER NOT NULL, supersedes TEXT,
        uses_per_node INTEGER NOT NULL) WITHOUT ROWID
    """,
    "CREATE INDEX tokens_node ON tokens (node)",
    "CREATE TABLE enrolments (node TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE leases (id TEXT PRIMARY KEY, node TEXT NOT NULL, body BLOB NOT NULL)",
    "CREATE TABLE asked (node TEXT PRIMARY KEY, time REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE maintenance (node TEXT PRIMARY KEY, until REAL NOT NULL, body BLOB NOT NULL)",
    "CREATE TABLE switches (name TEXT PRIMARY KEY, body BLOB NOT NULL)",
)


def _first(connection: sqlite3.Connection) -> None:
    for statement in TABLES:
        connection.execute(statement)


ACTING = (
    """
    CREATE TABLE actions (
        id INTEGER PRIMARY KEY, time REAL NOT NULL, node TEXT NOT NULL, what TEXT NOT NULL,
        remedy TEXT NOT NULL, subject TEXT, serial TEXT, fault TEXT, signature TEXT, lease TEXT,
        reason TEXT NOT NULL)
    """,
    "CREATE INDEX actions_node ON actions (node, id)",
    "CREATE INDEX actions_serial ON actions (serial, time)",
    "CREATE INDEX actions_lease ON actions (lease)",
    # What was done to nodes is kept for good: no statement of ours, or of a mistake, changes it.
    """
    CREATE TRIGGER actions_changed BEFORE UPDATE ON actions
        BEGIN SELECT RAISE(ABORT, 'actions are only added'); END
    """,
    """
    CREATE TRIGGER actions_removed BEFORE DELETE ON actions
        BEGIN SELECT RAISE(ABORT, 'actions are only added'); END
    """,
    """
    CREATE TABLE faults (
        fault TEXT NOT NULL, node TEXT NOT NULL, since REAL NOT NULL,
        PRIMARY KEY (fault, node)) WITHOUT ROWID
    """,
)


def _acting(connection: sqlite3.Connection) -> None:
    for statement in ACTING:
        connection.execute(statement)
    # What stands already is known since it was last told: nothing older is kept of it.
    for node, packed, since in connection.execute(
        "SELECT node, findings, received FROM nodes WHERE findings IS NOT NULL"
    ).fetchall():
        shown = {str(one.get("fault")) for one in unpack(packed) if one.get("severity") != "info"}
        connection.executemany(
            "INSERT OR IGNORE INTO faults (fault, node, since) VALUES (?, ?, ?)",
            [(fault, node, since) for fault in shown],
        )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first, _acting)


def connect(path: Path) -> sqlite3.Connection:
    """Open the database as all of it is to be opened; transactions are begun by hand."""
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=10, cached_statements=256
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def version(connection: sqlite3.Connection) -> int:
    """Return the schema number of a database, 0 for a new one."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def migrate(path: Path, *, steps: int = len(MIGRATIONS)) -> tuple[int, int]:
    """Bring the database to the newest schema; return the numbers before and after.

    Before anything is changed a whole copy is written beside it, `<name>.schema-<number>`.
    """
    make(path)
    with closing(connect(path)) as connection:
        before = version(connection)
        if before > len(MIGRATIONS):
            raise Mistake(
                f"{path} has schema {before}, this release knows up to {len(MIGRATIONS)}",
                "start the release that wrote it, or a newer one",
            )
        if 0 < before < steps:
            _copy(connection, path.with_name(f"{path.name}.schema-{before}"))
        for number in range(before, steps):
            _step(connection, number)
        return before, version(connection)


def make(path: Path) -> None:
    """Make a file that only the folder's owner reads, also where root makes it for a service."""
    path.touch(mode=0o600)
    if os.geteuid() == 0:
        folder = path.parent.stat()
        os.chown(path, folder.st_uid, folder.st_gid)


def _copy(connection: sqlite3.Connection, to: Path) -> None:
    to.unlink(missing_ok=True)
    make(to)
    connection.execute("VACUUM INTO ?", (str(to),))


def _step(connection: sqlite3.Connection, number: int) -> None:
    """Make one step and count it, or neither."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version(connection) == number:
            MIGRATIONS[number](connection)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
