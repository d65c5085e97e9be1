"""What routes can ask of a store; nothing of a database shows through it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from aggregator.fleet.enrolling import Asked, Enrolment, Outcome
from aggregator.fleet.leases import Decision, Lease, Limits, Wanted
from aggregator.store.records import (
    Acted,
    Appended,
    Arrival,
    Counts,
    History,
    Maintenance,
    NodeRecord,
    NodeWhole,
    Switch,
    Token,
)

Shared = Callable[[str], tuple[str, ...]]


def nothing_shared(node: str) -> tuple[str, ...]:
    """Stand for settings that say nothing."""
    del node
    return ()


class StoreError(Exception):
    """The store could not keep or give something: a full disk, a busy or broken database."""


class OverloadError(StoreError):
    """More waits to be written than the store lets wait; nothing was taken."""


class Store(Protocol):
    """All of it is safe to call at once; what returns from a writing call is on disk."""

    @property
    def waiting(self) -> int:
        """How many writes wait."""

    @property
    def commits(self) -> tuple[int, float]:
        """How many commits were made, and the seconds that they took."""

    async def append(self, arrivals: Sequence[Arrival], received: float) -> Appended:
        """Keep reports and what they say of their nodes; the same identity twice counts once."""

    async def nodes(self, after: str, limit: int, now: float) -> list[NodeRecord]:
        """Return nodes in the order of their names, beginning behind *after*."""

    async def node(self, node: str, now: float) -> NodeWhole | None:
        """Return one node with findings, parts, versions and its newest events."""

    async def history(self, node: str, before: int, limit: int) -> History:
        """Return stored reports of a node, newest first, with ids below *before*."""

    async def token(self, token_id: str) -> Token | None:
        """Return one credential."""

    async def tokens(self) -> list[Token]:
        """Return all credentials, newest first."""

    async def put_token(self, token: Token) -> None:
        """Keep a credential."""

    async def use_token(self, token_id: str, now: float, grace_s: float) -> None:
        """Mark a credential as used; the one that it supersedes ends *grace_s* later."""

    async def revoke_tokens(self, *, token_id: str | None = None, node: str | None = None) -> int:
        """Revoke by id, or all of a node; return how many it were."""

    async def enrol(self, asked: Asked, made: Token, now: float) -> Outcome:
        """Decide by fleet.enrolling and keep the outcome, in one step."""

    async def enrolments(self) -> list[Enrolment]:
        """Return all enrolments by node name."""

    async def approve(self, node: str) -> Enrolment | None:
        """Let the machine that waits under this name enrol; None where none waits."""

    async def lease(
        self, wanted: Wanted, limits: Limits, now: float, shared: Shared = nothing_shared
    ) -> Decision:
        """Decide by fleet.leases and keep the outcome, in one step.

        *shared* tells what a node shares with others by the settings, like `feed=a2`.
        """

    async def leases(self, now: float) -> list[Lease]:
        """Return the leases that hold a node out."""

    async def release(self, lease_id: str, node: str | None) -> bool:
        """End a lease, of *node* alone where given; False where there is none."""

    async def put_maintenance(self, maintenance: Maintenance) -> None:
        """Begin, change or (with `until` in the past) end the maintenance of a node."""

    async def maintenances(self, now: float) -> list[Maintenance]:
        """Return what has not ended."""

    async def switch(self, name: str) -> Switch | None:
        """Return a switch, None where it was never set."""

    async def put_switch(self, switch: Switch) -> None:
        """Set a switch."""

    async def put_action(self, acted: Acted) -> None:
        """Append to what was done to nodes; its id is given here."""

    async def actions(self, node: str | None, before: int, limit: int) -> list[Acted]:
        """Return what was done, newest first, with ids below *before*; of all nodes for None."""

    async def standing(self, faults: Sequence[str]) -> list[tuple[str, float]]:
        """Return the nodes that show one of *faults* now, each with the first moment."""

    async def counts(self, now: float, listening_since: float) -> Counts:
        """Return the numbers of /metrics."""

    async def expire(self, now: float, keep_s: float) -> int:
        """Remove a bounded number of what is older than *keep_s*; return how many reports."""

    async def ready(self) -> None:
        """Return when the store has written; raise StoreError where it cannot."""

    async def close(self) -> None:
        """Finish what was taken and let go of the files."""
