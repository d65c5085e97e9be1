"""Reports into rows, and what they say of their node into its one row."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aggregator.fleet import identity
from aggregator.store.bodies import pack, unpack
from aggregator.store.records import Appended, Arrival, PartSeen
from aggregator.store.sqlite import acting

INSERT = """INSERT INTO reports (node, boot_id, sequence, kind, sent, received, verdict, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"""
KNOWN = """SELECT boot_id, sequence, beat, verdict, product, machine, simulated, dropped,
    first_seen, received, sent, snapshot_received, findings, parts, versions
    FROM nodes WHERE node = ?"""
KEEP = """INSERT OR REPLACE INTO nodes (boot_id, sequence, beat, verdict, product, machine,
    simulated, dropped, first_seen, received, sent, snapshot_received, findings, parts, versions,
    node) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class Row(msgspec.Struct, kw_only=True):
    """The row of a node, in the order of its columns; what is large is unpacked meanwhile."""

    boot_id: str
    sequence: int
    beat: int
    verdict: str
    product: str
    machine: str | None
    simulated: int
    dropped: int
    first_seen: float
    received: float
    sent: float
    snapshot_received: float | None
    findings: Sequence[Mapping[str, Any]]
    parts: tuple[PartSeen, ...]
    versions: Mapping[str, str]

    def columns(self) -> tuple[Any, ...]:
        """Return the values as they are written."""
        *small, findings, parts, versions = msgspec.structs.astuple(self)
        return (*small, *(pack(large) if large else None for large in (findings, parts, versions)))


def append(
    connection: sqlite3.Connection, arrivals: Sequence[Arrival], received: float
) -> Appended:
    """Insert a batch; a node's row is read and written once for all of its reports."""
    rows: dict[str, Row] = {}
    before: dict[str, Sequence[Mapping[str, Any]]] = {}
    accepted = 0
    for arrival in arrivals:
        row = rows.get(arrival.node) or known(connection, arrival.node)
        before.setdefault(arrival.node, row.findings if row else ())
        new = _insert(connection, arrival, row, received)
        if row is None:
            row = _first(connection, arrival, received)
        elif new:
            _apply(connection, row, arrival, received)
        row.received = max(row.received, received)
        rows[arrival.node] = row
        accepted += new
    for node, row in rows.items():
        connection.execute(KEEP, (*row.columns(), node))
        if row.findings is not before[node]:
            acting.faults(connection, node, before[node], row.findings, received)
    return Appended(accepted=accepted, duplicates=len(arrivals) - accepted)


def known(connection: sqlite3.Connection, node: str) -> Row | None:
    """Return the row of a node."""
    found = connection.execute(KNOWN, (node,)).fetchone()
    if found is None:
        return None
    *small, findings, parts, versions = found
    values = (
        *small,
        unpack(findings) or (),
        msgspec.convert(unpack(parts) or (), tuple[PartSeen, ...]),
        unpack(versions) or {},
    )
    return Row(**dict(zip(Row.__struct_fields__, values, strict=True)))


def _insert(
    connection: sqlite3.Connection, arrival: Arrival, row: Row | None, received: float
) -> bool:
    """Return whether it is new.

    A heartbeat says nothing but that its node lives, so that only the newest one of a boot is
    remembered: an older one that comes late counts as known.
    """
    if arrival.body is None:
        return row is None or row.boot_id != arrival.boot_id or arrival.sequence > row.beat
    values = (
        arrival.node,
        arrival.boot_id,
        arrival.sequence,
        arrival.kind,
        arrival.sent,
        received,
        arrival.verdict,
        arrival.body,
    )
    return connection.execute(INSERT, values).rowcount == 1


def _first(connection: sqlite3.Connection, arrival: Arrival, received: float) -> Row:
    row = Row(
        boot_id="",
        sequence=-1,
        beat=-1,
        verdict="unknown",
        product=arrival.product,
        machine=arrival.machine,
        simulated=arrival.simulated,
        dropped=0,
        first_seen=received,
        received=received,
        sent=arrival.sent,
        snapshot_received=None,
        findings=(),
        parts=(),
        versions={},
    )
    _apply(connection, row, arrival, received)
    return row


def _apply(connection: sqlite3.Connection, row: Row, arrival: Arrival, received: float) -> None:
    """Take over what a new report says, if it is the newest of the newest boot."""
    row.dropped += arrival.dropped
    if row.boot_id != arrival.boot_id and not _new_boot(connection, row, arrival, received):
        return
    if arrival.body is None:
        row.beat = max(row.beat, arrival.sequence)
    if arrival.sequence <= row.sequence:
        return
    if arrival.whole:
        _identity(connection, row, arrival, received)
        row.snapshot_received = received
        row.findings = arrival.changed
        row.versions = arrival.versions
    elif arrival.changed or arrival.cleared:
        row.findings = _merged(row.findings, arrival.changed, arrival.cleared)
    row.sequence = arrival.sequence
    row.sent, row.verdict, row.product = arrival.sent, arrival.verdict, arrival.product
    row.simulated = arrival.simulated
    row.machine = arrival.machine or row.machine


def _new_boot(connection: sqlite3.Connection, row: Row, arrival: Arrival, received: float) -> bool:
    """Begin a boot that was never seen; a report of an older one changes no state."""
    begun = connection.execute(
        "INSERT INTO boots (node, boot_id, since, received) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (arrival.node, arrival.boot_id, arrival.sent, received),
    )
    if begun.rowcount == 1:
        row.boot_id, row.sequence, row.beat = arrival.boot_id, -1, -1
        return True
    since = connection.execute(
        "SELECT since FROM boots WHERE node = ? AND boot_id = ?", (arrival.node, row.boot_id)
    ).fetchone()
    noticed = identity.shared_name(arrival.node, arrival.boot_id, arrival.sent, since[0])
    if noticed is not None:
        notice(connection, arrival.node, noticed, received)
    return False


def _merged(
    known: Sequence[Mapping[str, Any]], changed: Sequence[Mapping[str, Any]], cleared: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Lay a change over the findings; a finding is known by its fingerprint, else by its id."""
    findings = {name(finding): finding for finding in known}
    findings |= {name(finding): finding for finding in changed}
    return [finding for key, finding in findings.items() if key not in set(cleared)]


def name(finding: Mapping[str, Any]) -> str:
    """Return what a change calls a finding."""
    return str(finding.get("fingerprint") or finding.get("id"))


def _identity(connection: sqlite3.Connection, row: Row, arrival: Arrival, received: float) -> None:
    """Follow the parts of a snapshot by their serials, where anything of it changed."""
    parts = tuple(sorted(arrival.parts))
    if parts in ((), row.parts) and arrival.machine == row.machine:
        return
    before = [part.serial for part in row.parts]
    now = {(part.kind, part.serial): part for part in parts}
    elsewhere = _owners(connection, arrival.node, list(now.values()))
    for noticed in identity.of_machine(
        arrival.node,
        (row.machine, arrival.machine),
        before,
        [part.serial for part in parts],
        elsewhere,
    ):
        notice(connection, arrival.node, noticed, received)
    connection.executemany(
        "INSERT INTO parts (kind, serial, node, slot, since) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET node = excluded.node, slot = excluded.slot,"
        " since = CASE WHEN node = excluded.node THEN since ELSE excluded.since END",
        [(p.kind, p.serial, arrival.node, p.slot, received) for p in now.values()],
    )
    row.parts = parts or row.parts


def _owners(connection: sqlite3.Connection, node: str, parts: Sequence[PartSeen]) -> dict[str, str]:
    """Return which of these serials another node had last."""
    owners = {}
    for part in parts:
        found = connection.execute(
            "SELECT node FROM parts WHERE kind = ? AND serial = ?", (part.kind, part.serial)
        ).fetchone()
        if found and found[0] != node:
            owners[part.serial] = found[0]
    return owners


def notice(
    connection: sqlite3.Connection, node: str, noticed: identity.Noticed, time: float
) -> None:
    """Keep an event; the same news again, with nothing between, moves its time."""
    newest = connection.execute(
        "SELECT id, key FROM events WHERE node = ? AND kind = ? ORDER BY id DESC LIMIT 1",
        (node, noticed.kind),
    ).fetchone()
    if newest and newest[1] == noticed.key:
        connection.execute("UPDATE events SET time = ? WHERE id = ?", (time, newest[0]))
        return
    connection.execute(
        "INSERT INTO events (node, kind, key, time, text) VALUES (?, ?, ?, ?, ?)",
        (node, noticed.kind, noticed.key, time, noticed.text),
    )
