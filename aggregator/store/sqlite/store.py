"""The protocol of a store over one file: writes by the writer thread, reads by another."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from aggregator.fleet.enrolling import Asked, Enrolment, Outcome
from aggregator.fleet.leases import Decision, Lease, Limits, Wanted
from aggregator.store.protocol import Shared, nothing_shared
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
from aggregator.store.sqlite import access, acting, reading, reports, steering
from aggregator.store.sqlite.migrations import connect, migrate
from aggregator.store.sqlite.writer import Writer

AT_ONCE = 5000


class SqliteStore:
    """`prepare` the file first; every writing method returns after COMMIT with synchronous=FULL."""

    def __init__(self, path: Path) -> None:
        self._writer = Writer(partial(connect, path), "store-writer", writes=True)
        self._reader = Writer(partial(connect, path), "store-reader", writes=False)

    @staticmethod
    def prepare(path: Path) -> None:
        """Make or migrate the file; it blocks, so call it before the loop runs."""
        migrate(path)

    @property
    def waiting(self) -> int:
        """How many writes wait."""
        return self._writer.waiting

    @property
    def commits(self) -> tuple[int, float]:
        """How many commits were made, and the seconds that they took."""
        return self._writer.commits, self._writer.seconds

    async def append(self, arrivals: Sequence[Arrival], received: float) -> Appended:
        """Keep reports."""
        return await self._writer.do(partial(reports.append, arrivals=arrivals, received=received))

    async def nodes(self, after: str, limit: int, now: float) -> list[NodeRecord]:
        """Return a page of nodes."""
        return await self._reader.do(partial(reading.nodes, after=after, limit=limit, now=now))

    async def node(self, node: str, now: float) -> NodeWhole | None:
        """Return one node."""
        return await self._reader.do(partial(reading.node, name=node, now=now))

    async def history(self, node: str, before: int, limit: int) -> History:
        """Return a page of reports."""
        return await self._reader.do(
            partial(reading.history, name=node, before=before, limit=limit)
        )

    async def token(self, token_id: str) -> Token | None:
        """Return one credential."""
        return await self._reader.do(partial(access.token, token_id=token_id))

    async def tokens(self) -> list[Token]:
        """Return all credentials."""
        return await self._reader.do(access.tokens)

    async def put_token(self, token: Token) -> None:
        """Keep a credential."""
        await self._writer.do(partial(access.put, made=token))

    async def use_token(self, token_id: str, now: float, grace_s: float) -> None:
        """Mark a credential as used."""
        await self._writer.do(partial(access.use, token_id=token_id, now=now, grace_s=grace_s))

    async def revoke_tokens(self, *, token_id: str | None = None, node: str | None = None) -> int:
        """Revoke credentials."""
        return await self._writer.do(partial(access.revoke, token_id=token_id, node=node))

    async def enrol(self, asked: Asked, made: Token, now: float) -> Outcome:
        """Decide on an enrolment."""
        return await self._writer.do(partial(access.enrol, asked=asked, made=made, now=now))

    async def enrolments(self) -> list[Enrolment]:
        """Return all enrolments."""
        return await self._reader.do(access.enrolments)

    async def approve(self, node: str) -> Enrolment | None:
        """Approve who waits."""
        return await self._writer.do(partial(access.approve, node=node))

    async def lease(
        self, wanted: Wanted, limits: Limits, now: float, shared: Shared = nothing_shared
    ) -> Decision:
        """Decide on a lease."""
        return await self._writer.do(
            partial(steering.lease, wanted=wanted, limits=limits, now=now, shared=shared)
        )

    async def leases(self, now: float) -> list[Lease]:
        """Return the leases that hold a node out."""
        return await self._reader.do(partial(steering.held, now=now))

    async def release(self, lease_id: str, node: str | None) -> bool:
        """End a lease."""
        return await self._writer.do(partial(steering.release, lease_id=lease_id, node=node))

    async def put_maintenance(self, maintenance: Maintenance) -> None:
        """Write a maintenance."""
        await self._writer.do(partial(steering.put_maintenance, maintenance=maintenance))

    async def maintenances(self, now: float) -> list[Maintenance]:
        """Return what has not ended."""
        return await self._reader.do(partial(steering.maintenances, now=now))

    async def switch(self, name: str) -> Switch | None:
        """Return a switch."""
        return await self._reader.do(partial(steering.switch, name=name))

    async def put_switch(self, switch: Switch) -> None:
        """Set a switch."""
        await self._writer.do(partial(steering.put_switch, value=switch))

    async def put_action(self, acted: Acted) -> None:
        """Append to what was done to nodes."""
        await self._writer.do(partial(acting.put, acted=acted))

    async def actions(self, node: str | None, before: int, limit: int) -> list[Acted]:
        """Return what was done to nodes."""
        return await self._reader.do(partial(acting.listed, node=node, before=before, limit=limit))

    async def standing(self, faults: Sequence[str]) -> list[tuple[str, float]]:
        """Return the nodes that show one of *faults*, each with the first moment."""
        return await self._reader.do(partial(acting.standing, faults=faults))

    async def counts(self, now: float, listening_since: float) -> Counts:
        """Return the numbers of /metrics."""
        return await self._reader.do(
            partial(reading.counts, now=now, listening_since=listening_since)
        )

    async def expire(self, now: float, keep_s: float) -> int:
        """Remove what is too old."""
        return await self._writer.do(partial(steering.expire, now=now, keep_s=keep_s, most=AT_ONCE))

    async def ready(self) -> None:
        """Return when an empty group was committed."""
        await self._writer.do(lambda connection: connection.execute("SELECT 1").fetchone())

    async def close(self) -> None:
        """Finish what was taken."""
        await self._writer.close()
        await self._reader.close()
