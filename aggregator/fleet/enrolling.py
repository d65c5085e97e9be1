"""May this machine speak under this name? The first may; a second one needs a person.

One join token lies on all nodes, so that holding it proves little: a name that is taken is given
away again only where an operator approved that very machine, or where the join token was made for
more than one use a name (a fleet that is installed anew).
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

RETRY_S = 3600.0


class Enrolment(msgspec.Struct, frozen=True, kw_only=True):
    """A node name that was given to a machine; `pending` is the machine that waits for a person.

    `join_uses` counts the enrolments by join token, `nonce` is that of the newest one.
    """

    node: str
    machine: str
    enrolled: float
    nonce: bytes
    join_uses: Mapping[str, int] = {}
    pending: str | None = None
    pending_since: float | None = None
    approved: bool = False
    revoked: bool = False


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A node with a join token asks for a credential of its own.

    `nonce` is the digest of what the node made up before it asked: a repeated question after a
    lost answer is known by it and answered anew.
    """

    node: str
    machine: str
    nonce: bytes
    join: str
    uses_per_node: int = 1


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`enrolled` or `pending`, the sentence, and the enrolment to keep."""

    state: Literal["enrolled", "pending"]
    reason: str
    enrolment: Enrolment


def decide(asked: Asked, known: Enrolment | None, now: float) -> Outcome:
    """Return what becomes of the question."""
    if known is None:
        return _enrolled(asked, None, "the name was free", now)
    if known.approved and known.pending == asked.machine:
        return _enrolled(asked, known, "an operator approved it", now)
    if known.revoked:
        return _pending(asked, known, "its credential was revoked", now)
    again = known.nonce == asked.nonce and known.machine == asked.machine
    if again and now - known.enrolled <= RETRY_S:
        return _enrolled(asked, known, "the answer is given again", now)
    if known.join_uses.get(asked.join, 0) < asked.uses_per_node and asked.uses_per_node > 1:
        return _enrolled(asked, known, "the join token allows another use", now)
    return _pending(asked, known, f"{asked.node} is enrolled already", now)


def _enrolled(asked: Asked, known: Enrolment | None, reason: str, now: float) -> Outcome:
    again = known is not None and known.nonce == asked.nonce and not known.approved
    uses = dict(known.join_uses) if known else {}
    if not again:
        uses[asked.join] = uses.get(asked.join, 0) + 1
    enrolment = Enrolment(
        node=asked.node,
        machine=asked.machine,
        # A repeated answer does not make the time for repeating it longer.
        enrolled=known.enrolled if known and again else now,
        nonce=asked.nonce,
        join_uses=uses,
    )
    return Outcome(state="enrolled", reason=reason, enrolment=enrolment)


def _pending(asked: Asked, known: Enrolment, reason: str, now: float) -> Outcome:
    same = known.pending == asked.machine
    enrolment = msgspec.structs.replace(
        known,
        pending=asked.machine,
        pending_since=known.pending_since if same else now,
        approved=False,
    )
    why = f"{reason}: an operator has to approve this machine"
    return Outcome(state="pending", reason=why, enrolment=enrolment)
