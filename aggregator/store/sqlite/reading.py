"""Questions about nodes and reports, by the reader's own connection."""

import sqlite3
from collections import Counter
from typing import Any

import msgspec

from aggregator.fleet.states import state
from aggregator.store.bodies import text, unpack
from aggregator.store.records import Counts, Event, History, NodeRecord, NodeWhole, PartSeen, Past
from aggregator.store.sqlite.steering import BREAKER, switch

EVENTS = 50
PAGE_BYTES = 4 * 2**20
COLUMNS = """n.node, n.boot_id, n.sequence, n.verdict, n.product, n.machine, n.simulated,
    n.dropped, n.first_seen, n.received, n.sent, n.snapshot_received, m.until, m.body"""
FROM = "FROM nodes n LEFT JOIN maintenance m ON m.node = n.node AND m.until > ?"


def nodes(connection: sqlite3.Connection, after: str, limit: int, now: float) -> list[NodeRecord]:
    """Return a page of nodes."""
    rows = connection.execute(
        f"SELECT {COLUMNS} {FROM} WHERE n.node > ? ORDER BY n.node LIMIT ?",
        (now, after, limit),
    )
    return [_record(row) for row in rows]


def node(connection: sqlite3.Connection, name: str, now: float) -> NodeWhole | None:
    """Return one node with all that its reports carried."""
    row = connection.execute(
        f"SELECT {COLUMNS}, n.findings, n.parts, n.versions {FROM} WHERE n.node = ?",
        (now, name),
    ).fetchone()
    if row is None:
        return None
    findings, parts, versions = (unpack(packed) for packed in row[-3:])
    events = connection.execute(
        "SELECT node, kind, time, text FROM events WHERE node = ? ORDER BY id DESC LIMIT ?",
        (name, EVENTS),
    )
    return NodeWhole(
        record=_record(row[:-3]),
        findings=tuple(findings or ()),
        parts=tuple(msgspec.convert(parts or [], list[PartSeen])),
        versions=versions or {},
        events=tuple(Event(node=e[0], kind=e[1], time=e[2], text=e[3]) for e in events),
    )


def _record(row: tuple[Any, ...]) -> NodeRecord:
    fields = dict(zip(NodeRecord.__struct_fields__, row, strict=True))
    packed = fields["maintenance_reason"]
    fields["maintenance_reason"] = unpack(packed)["reason"] if packed else None
    fields["simulated"] = bool(fields["simulated"])
    return NodeRecord(**fields)


def history(connection: sqlite3.Connection, name: str, before: int, limit: int) -> History:
    """Return a page of reports, newest first; it ends early where their bodies are large."""
    rows = connection.execute(
        "SELECT id, boot_id, sequence, kind, sent, received, verdict, body FROM reports"
        " WHERE node = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (name, before, limit + 1),
    )
    items: list[Past] = []
    size = 0
    for row in rows:
        if len(items) == limit or size > PAGE_BYTES:
            return History(items=tuple(items), more=True)
        values = (*row[:-1], text(row[-1]))
        items.append(Past(**dict(zip(Past.__struct_fields__, values, strict=True))))
        size += len(items[-1].body)
    return History(items=tuple(items), more=False)


def counts(connection: sqlite3.Connection, now: float, listening_since: float) -> Counts:
    """Return what /metrics tells: one pass over the nodes."""
    rows = connection.execute(f"SELECT n.received, m.until, n.verdict {FROM}", (now,))
    found: Counter[tuple[str, str]] = Counter(
        (state(row[0], now, listening_since=listening_since, maintenance_until=row[1]), row[2])
        for row in rows
    )
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    leases = connection.execute("SELECT count(*) FROM leases").fetchone()[0]
    breaker = switch(connection, BREAKER)
    return Counts(
        states=found,
        leases=leases,
        breaker=breaker is not None and breaker.on,
        bytes=pages * size,
    )
