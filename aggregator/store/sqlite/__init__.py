"""One file on one machine: WAL, synchronous=FULL, one writer thread that commits in groups."""

from aggregator.store.sqlite.store import SqliteStore as SqliteStore
