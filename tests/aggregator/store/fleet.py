"""A database that holds many nodes, made at once."""

from contextlib import closing
from pathlib import Path

from aggregator.api.intake import arrival
from aggregator.store.sqlite import reports
from aggregator.store.sqlite.migrations import connect
from tests.aggregator.reports import NOW, lines, report


def filled(path: Path, count: int) -> None:
    """Let *count* nodes have sent one heartbeat each."""
    names = [f"n-{number:05}" for number in range(count)]
    heard = [arrival(memoryview(lines([report(node=n)])[:-1]), n, 10**6) for n in names]
    with closing(connect(path)) as connection:
        connection.execute("BEGIN")
        reports.append(connection, heard, NOW)
        connection.execute("COMMIT")
