"""What was done to nodes and why not, for good; and which fault stands on which node since when."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aggregator.fleet import ladder, mass
from aggregator.fleet.leases import Decision, Wanted
from aggregator.store.bodies import unpack
from aggregator.store.protocol import Shared
from aggregator.store.records import Acted

COLUMNS = "id, time, node, what, remedy, subject, serial, fault, signature, lease, reason"
GRANTED, REFUSED, UNTOUCHED = "granted", "refused", "untouched"
# So many of one fault are looked at, the nearest in time first: a refusal needs four.
MOST_CASES = 500
MOST_STANDING = 20_000


def put(connection: sqlite3.Connection, acted: Acted) -> None:
    """Append one line; nothing here changes or removes one, and the table refuses it."""
    connection.execute(
        f"INSERT INTO actions ({COLUMNS}) VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - a constant of this module
        (
            acted.time,
            acted.node,
            acted.what,
            acted.remedy,
            acted.subject,
            acted.serial,
            acted.fault,
            acted.signature,
            acted.lease,
            acted.reason,
        ),
    )


def decided(connection: sqlite3.Connection, wanted: Wanted, decision: Decision, now: float) -> None:
    """Write down an answer to who asked; the same refusal again, and a renewal, is no news.

    What is begun under a lease that is held counts as much as what it was given for.
    """
    if decision.renewed and wanted.goes_on:
        return
    granted = decision.lease is not None
    line = Acted(
        id=0,
        time=now,
        node=wanted.node,
        what=GRANTED if granted else REFUSED,
        remedy=wanted.remedy,
        serial=wanted.serial,
        fault=wanted.fault,
        signature=wanted.signature,
        lease=decision.lease.id if decision.lease else None,
        reason=decision.reason,
    )
    newest = connection.execute(
        "SELECT what, remedy, reason FROM actions WHERE node = ? ORDER BY id DESC LIMIT 1",
        (wanted.node,),
    ).fetchone()
    if granted or newest != (line.what, line.remedy, line.reason):
        put(connection, line)


def listed(
    connection: sqlite3.Connection, node: str | None, before: int, limit: int
) -> list[Acted]:
    """Return lines, newest first, with ids below *before*."""
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM actions WHERE id < ? AND (? IS NULL OR node = ?)"  # noqa: S608 - a constant of this module
        " ORDER BY id DESC LIMIT ?",
        (before, node, node, limit),
    )
    return [Acted(**dict(zip(Acted.__struct_fields__, row, strict=True))) for row in rows]


def past(connection: sqlite3.Connection, wanted: Wanted, now: float) -> tuple[ladder.Granted, ...]:
    """Return what was granted for this node or part, but for what then changed nothing.

    A lease may have covered several: it is the next word of the same remedy that tells.
    """
    rows = connection.execute(
        "SELECT node, remedy, time, serial FROM actions a WHERE what = ? AND time > ?"
        " AND (node = ? OR serial = ?) AND coalesce("
        "(SELECT u.what FROM actions u WHERE u.lease = a.lease AND u.node = a.node"
        " AND u.remedy = a.remedy AND u.what != 'begun' AND u.id > a.id ORDER BY u.id LIMIT 1)"
        ", '') != ?",
        (GRANTED, now - ladder.WINDOW_S, wanted.node, wanted.serial, UNTOUCHED),
    )
    return tuple(ladder.Granted(node=r[0], remedy=r[1], at=r[2], serial=r[3]) for r in rows)


def faults(
    connection: sqlite3.Connection,
    node: str,
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    now: float,
) -> None:
    """Follow which faults stand on a node, and since when."""
    was, is_now = _faults(before), _faults(after)
    connection.executemany(
        "DELETE FROM faults WHERE fault = ? AND node = ?", [(f, node) for f in was - is_now]
    )
    connection.executemany(
        "INSERT OR IGNORE INTO faults (fault, node, since) VALUES (?, ?, ?)",
        [(f, node, now) for f in is_now - was],
    )


def _faults(findings: Iterable[Mapping[str, Any]]) -> set[str]:
    return {
        str(finding["fault"])
        for finding in findings
        if finding.get("fault") and finding.get("severity") != "info"
    }


def same(
    connection: sqlite3.Connection, wanted: Wanted, shared: Shared, now: float
) -> tuple[mass.Case, ...]:
    """Return the nodes that show the asker's fault, the asker first."""
    own = connection.execute(
        "SELECT since FROM faults WHERE fault = ? AND node = ?", (wanted.signature, wanted.node)
    ).fetchone()
    since = own[0] if own else now
    rows = connection.execute(
        "SELECT f.node, f.since, n.parts, n.versions FROM faults f JOIN nodes n ON n.node = f.node"
        " WHERE f.fault = ? AND f.node != ? AND f.since BETWEEN ? AND ?"
        " ORDER BY abs(f.since - ?) LIMIT ?",
        (
            wanted.signature,
            wanted.node,
            since - mass.WINDOW_S,
            since + mass.WINDOW_S,
            since,
            MOST_CASES,
        ),
    ).fetchall()
    if not rows:
        return ()
    found = connection.execute(
        "SELECT parts, versions FROM nodes WHERE node = ?", (wanted.node,)
    ).fetchone()
    every = [(wanted.node, since, *(found or (None, None))), *rows]
    return tuple(
        mass.Case(node=name, since=at, shares=(*shared(name), *_shares(parts, versions)))
        for name, at, parts, versions in every
    )


def standing(connection: sqlite3.Connection, faults: Sequence[str]) -> list[tuple[str, float]]:
    """Return the nodes that show one of *faults*, each with the first moment."""
    marks = ", ".join("?" * len(faults))
    rows = connection.execute(
        f"SELECT node, min(since) FROM faults WHERE fault IN ({marks})"  # noqa: S608 - question marks alone
        " GROUP BY node ORDER BY node LIMIT ?",
        (*faults, MOST_STANDING),
    )
    return [(node, since) for node, since in rows]


def _shares(parts: bytes | None, versions: bytes | None) -> list[str]:
    """Return what a node's own reports tell: the switches that it hangs on, its driver."""
    switches = {part["switch"] for part in unpack(parts) or () if part.get("switch")}
    driver = (unpack(versions) or {}).get("driver")
    return [*(f"switch={name}" for name in switches), *([f"driver={driver}"] if driver else [])]
