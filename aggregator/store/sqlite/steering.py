"""Leases, maintenance and switches."""

import sqlite3

import msgspec

from aggregator.fleet import leases as pure
from aggregator.fleet.leases import Decision, Fleet, Lease, Limits, Wanted
from aggregator.store.bodies import pack, unpack
from aggregator.store.protocol import Shared
from aggregator.store.records import Maintenance, Switch
from aggregator.store.sqlite import acting

COUNTED_S = 7 * 86_400.0
BREAKER, PAUSE = "breaker", "pause"


def lease(
    connection: sqlite3.Connection, wanted: Wanted, limits: Limits, now: float, shared: Shared
) -> Decision:
    """Decide within this transaction, so that two nodes cannot both take the last place."""
    if all(lease.node != wanted.node for lease in held(connection, now)):
        # Who holds a lease asks for nothing new.
        connection.execute(
            "INSERT OR REPLACE INTO asked (node, time) VALUES (?, ?)", (wanted.node, now)
        )
    state = msgspec.structs.replace(
        fleet(connection, limits, now),
        same=acting.same(connection, wanted, shared, now) if wanted.signature else (),
        past=acting.past(connection, wanted, now),
    )
    decision = pure.decide(wanted, state, limits, now)
    acting.decided(connection, wanted, decision, now)
    if decision.trips:
        put_switch(
            connection,
            Switch(name=BREAKER, on=True, since=now, by="aggregator", reason=decision.reason),
        )
    if decision.lease is not None:
        connection.execute(
            "INSERT OR REPLACE INTO leases (id, node, body) VALUES (?, ?, ?)",
            (decision.lease.id, decision.lease.node, pack(decision.lease)),
        )
    return decision


def fleet(connection: sqlite3.Connection, limits: Limits, now: float) -> Fleet:
    """Return what a decision rests on; nodes unheard for a week do not widen the budget."""
    paused, breaker = switch(connection, PAUSE), switch(connection, BREAKER)
    since = now - limits.asking_window_s
    if breaker is not None and not breaker.on:
        since = max(since, breaker.since)
    asked = connection.execute("SELECT node FROM asked WHERE time > ?", (since,))
    nodes = connection.execute(
        "SELECT count(*) FROM nodes WHERE received > ?", (now - COUNTED_S,)
    ).fetchone()
    return Fleet(
        nodes=nodes[0],
        held=tuple(held(connection, now)),
        asked=frozenset(row[0] for row in asked),
        paused=paused is not None and paused.on,
        breaker=breaker is not None and breaker.on,
    )


def held(connection: sqlite3.Connection, now: float) -> list[Lease]:
    """Return the leases that hold a node out, not those that ended by themselves."""
    rows = connection.execute(
        "SELECT l.body, n.received FROM leases l LEFT JOIN nodes n ON n.node = l.node ORDER BY l.id"
    )
    every = [(msgspec.convert(unpack(body), Lease), received) for body, received in rows]
    return [lease for lease, received in every if pure.out(lease, received, now)]


def release(connection: sqlite3.Connection, lease_id: str, node: str | None) -> bool:
    """End a lease."""
    done = connection.execute(
        "DELETE FROM leases WHERE id = ? AND (? IS NULL OR node = ?)", (lease_id, node, node)
    )
    return done.rowcount == 1


def put_maintenance(connection: sqlite3.Connection, maintenance: Maintenance) -> None:
    """Write the one maintenance of a node."""
    connection.execute(
        "INSERT OR REPLACE INTO maintenance (node, until, body) VALUES (?, ?, ?)",
        (maintenance.node, maintenance.until, pack(maintenance)),
    )


def maintenances(connection: sqlite3.Connection, now: float) -> list[Maintenance]:
    """Return what has not ended, by node name."""
    rows = connection.execute("SELECT body FROM maintenance WHERE until > ? ORDER BY node", (now,))
    return [msgspec.convert(unpack(row[0]), Maintenance) for row in rows]


def switch(connection: sqlite3.Connection, name: str) -> Switch | None:
    """Return a switch."""
    row = connection.execute("SELECT body FROM switches WHERE name = ?", (name,)).fetchone()
    return msgspec.convert(unpack(row[0]), Switch) if row else None


def put_switch(connection: sqlite3.Connection, value: Switch) -> None:
    """Set a switch."""
    connection.execute(
        "INSERT OR REPLACE INTO switches (name, body) VALUES (?, ?)", (value.name, pack(value))
    )


def expire(connection: sqlite3.Connection, now: float, keep_s: float, most: int) -> int:
    """Remove what is too old, at most *most* reports at once, so that nobody waits long."""
    gone = connection.execute(
        "DELETE FROM reports WHERE id IN"
        " (SELECT id FROM reports WHERE received < ? ORDER BY received LIMIT ?)",
        (now - keep_s, most),
    ).rowcount
    connection.execute(
        "DELETE FROM boots WHERE received < ? AND NOT EXISTS"
        " (SELECT 1 FROM nodes n WHERE n.node = boots.node AND n.boot_id = boots.boot_id)",
        (now - keep_s,),
    )
    connection.execute("DELETE FROM events WHERE time < ?", (now - 12 * keep_s,))
    connection.execute("DELETE FROM tokens WHERE expires < ?", (now - keep_s,))
    connection.execute("DELETE FROM asked WHERE time < ?", (now - keep_s,))
    connection.execute("DELETE FROM maintenance WHERE until < ?", (now - keep_s,))
    for row in connection.execute("SELECT id FROM leases").fetchall():
        _drop_ended(connection, row[0], now)
    return gone


def _drop_ended(connection: sqlite3.Connection, lease_id: str, now: float) -> None:
    if all(lease.id != lease_id for lease in held(connection, now)):
        connection.execute("DELETE FROM leases WHERE id = ?", (lease_id,))
