"""Credentials and enrolments."""

import sqlite3
from typing import Any

import msgspec

from aggregator.fleet import enrolling
from aggregator.fleet.enrolling import Asked, Enrolment, Outcome
from aggregator.store.records import Token

FIELDS = Token.__struct_fields__
COLUMNS = ", ".join(FIELDS)
MARKS = ", ".join("?" * len(FIELDS))
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Enrolment).decode


def token(connection: sqlite3.Connection, token_id: str) -> Token | None:
    """Return one credential."""
    row = connection.execute(
        f"SELECT {COLUMNS} FROM tokens WHERE id = ?",  # noqa: S608 - names of a struct's fields
        (token_id,),
    ).fetchone()
    return _token(row) if row else None


def tokens(connection: sqlite3.Connection) -> list[Token]:
    """Return all credentials, newest first."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM tokens ORDER BY created DESC, id")  # noqa: S608 - names of a struct's fields
    return [_token(row) for row in rows]


def _token(row: tuple[Any, ...]) -> Token:
    fields = dict(zip(FIELDS, row, strict=True))
    return Token(**(fields | {"used": bool(fields["used"]), "revoked": bool(fields["revoked"])}))


def put(connection: sqlite3.Connection, made: Token) -> None:
    """Keep a credential."""
    connection.execute(
        f"INSERT INTO tokens ({COLUMNS}) VALUES ({MARKS})",  # noqa: S608 - names of a struct's fields
        msgspec.structs.astuple(made),
    )


def use(connection: sqlite3.Connection, token_id: str, now: float, grace_s: float) -> None:
    """Mark as used; what it supersedes ends soon, not at once: requests may be on their way."""
    connection.execute("UPDATE tokens SET used = 1 WHERE id = ?", (token_id,))
    connection.execute(
        "UPDATE tokens SET expires = min(expires, ?)"
        " WHERE id = (SELECT supersedes FROM tokens WHERE id = ?)",
        (now + grace_s, token_id),
    )


def revoke(connection: sqlite3.Connection, token_id: str | None, node: str | None) -> int:
    """Revoke one credential, or a node's and with them its enrolment."""
    if node is None:
        return connection.execute(
            "UPDATE tokens SET revoked = 1 WHERE id = ? AND revoked = 0", (token_id,)
        ).rowcount
    known = enrolment(connection, node)
    if known is not None:
        keep(connection, msgspec.structs.replace(known, revoked=True, approved=False))
    return connection.execute(
        "UPDATE tokens SET revoked = 1 WHERE node = ? AND revoked = 0", (node,)
    ).rowcount


def enrolment(connection: sqlite3.Connection, node: str) -> Enrolment | None:
    """Return one enrolment."""
    row = connection.execute("SELECT body FROM enrolments WHERE node = ?", (node,)).fetchone()
    return _decode(row[0]) if row else None


def enrolments(connection: sqlite3.Connection) -> list[Enrolment]:
    """Return all of them by node name."""
    rows = connection.execute("SELECT body FROM enrolments ORDER BY node")
    return [_decode(row[0]) for row in rows]


def keep(connection: sqlite3.Connection, kept: Enrolment) -> None:
    """Write one enrolment."""
    connection.execute(
        "INSERT OR REPLACE INTO enrolments (node, body) VALUES (?, ?)", (kept.node, _encode(kept))
    )


def enrol(connection: sqlite3.Connection, asked: Asked, made: Token, now: float) -> Outcome:
    """Decide and keep; a new credential ends those that the name had."""
    outcome = enrolling.decide(asked, enrolment(connection, asked.node), now)
    keep(connection, outcome.enrolment)
    if outcome.state == "enrolled":
        connection.execute("UPDATE tokens SET revoked = 1 WHERE node = ?", (asked.node,))
        put(connection, made)
    return outcome


def approve(connection: sqlite3.Connection, node: str) -> Enrolment | None:
    """Let the machine that waits enrol."""
    known = enrolment(connection, node)
    if known is None or known.pending is None:
        return None
    approved = msgspec.structs.replace(known, approved=True)
    keep(connection, approved)
    return approved
