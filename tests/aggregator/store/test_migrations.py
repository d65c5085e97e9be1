"""Steps from one schema to the next."""

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from aggregator.errors import Mistake
from aggregator.store.sqlite import migrations


def add_table(connection: sqlite3.Connection) -> None:
    """Stand for a next step."""
    connection.execute("CREATE TABLE later (a)")


def fail(connection: sqlite3.Connection) -> None:
    """Stand for a step that does not come to its end."""
    add_table(connection)
    raise sqlite3.OperationalError("database or disk is full")


def steps(monkeypatch: pytest.MonkeyPatch, *more: Callable[[sqlite3.Connection], None]) -> int:
    """Add steps to those of this release."""
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, *more))
    return len(migrations.MIGRATIONS)


def test_new(tmp_path: Path) -> None:
    """A new database gets all steps, belongs to its owner alone, and a second time changes none."""
    path = tmp_path / "db"
    first, second = migrations.migrate(path), migrations.migrate(path)
    newest = len(migrations.MIGRATIONS)
    assert ((0, newest), (newest, newest), 0o600) == (
        first,
        second,
        stat.S_IMODE(path.stat().st_mode),
    )


@pytest.mark.root
def test_made_by_root(tmp_path: Path) -> None:
    """What root makes for a service belongs to the service, as its folder does."""
    os.chown(tmp_path, 4321, 4322)
    migrations.migrate(tmp_path / "db")
    made = (tmp_path / "db").stat()
    assert (4321, 4322) == (made.st_uid, made.st_gid)


def test_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a step a whole copy is written that still has the older schema."""
    path = tmp_path / "db"
    _, before = migrations.migrate(path)
    done = migrations.migrate(path, steps=steps(monkeypatch, add_table))
    with closing(sqlite3.connect(tmp_path / f"db.schema-{before}")) as copy:
        assert ((before, before + 1), before) == (done, migrations.version(copy))


def test_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that fails leaves nothing of itself."""
    path = tmp_path / "db"
    _, before = migrations.migrate(path)
    with pytest.raises(sqlite3.OperationalError):
        migrations.migrate(path, steps=steps(monkeypatch, fail))
    with closing(sqlite3.connect(path)) as found:
        later = found.execute("SELECT count(*) FROM sqlite_master WHERE name = 'later'").fetchone()
        assert (before, (0,)) == (migrations.version(found), later)


def test_newer(tmp_path: Path) -> None:
    """A database of a newer release is refused in one line, untouched."""
    path = tmp_path / "db"
    with closing(migrations.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 900")
    with pytest.raises(Mistake, match="has schema 900, this release knows up to"):
        migrations.migrate(path)
