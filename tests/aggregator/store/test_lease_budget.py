"""Leases over a real store: whatever happens in whatever order, never more out than the budget."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.api.intake import arrival
from aggregator.fleet.leases import Decision, Limits, Wanted
from aggregator.store.protocol import Store
from aggregator.store.records import Switch
from aggregator.store.sqlite import SqliteStore
from tests.aggregator.reports import NOW, lines, report

LIMITS = Limits()
NODES = 150  # of which three may be out
PER_RACK, RAILS = 4, 6


def places(node: int) -> tuple[str, ...]:
    """Return rack and rail of a node; four share a rack, every sixth one a rail."""
    return f"rack=r{node // PER_RACK}", f"rail=su1-{node % RAILS}"


def wanted(node: int, turn: int = 0) -> Wanted:
    """Ask for half an hour."""
    name = f"n-{node:03}"
    return Wanted(id=f"{name}-{turn}", node=name, remedy="x", seconds=1800, places=places(node))


async def hear(store: Store, sequence: int, now: float, *nodes: int) -> None:
    """Let nodes have reported at *now*."""
    names = [f"n-{node:03}" for node in nodes]
    heard = [report(sequence, node=name) for name in names]
    taken = [arrival(memoryview(lines([r])[:-1]), r.node, 10**6) for r in heard]
    await store.append(taken, now)


async def right(store: Store, now: float) -> None:
    """Raise where more are out than may be: in all, of a rack, of a rail."""
    held = await store.leases(now)
    where = [place for lease in held for place in lease.places]
    assert (True, len(set(where)), len({lease.node for lease in held})) == (
        len(held) <= 3,
        len(where),
        len(held),
    )


NODE = st.integers(0, 23)
STEPS = st.one_of(
    st.tuples(st.just("ask"), st.lists(NODE, min_size=1, max_size=6)),
    st.tuples(st.just("release"), st.lists(NODE, max_size=3)),
    st.tuples(st.just("hear"), st.lists(NODE, max_size=3)),
    st.tuples(st.just("wait"), st.lists(st.sampled_from([1, 599, 601, 1799, 1801]), max_size=1)),
    st.tuples(st.just("restart"), st.just([])),
    st.tuples(st.just("ask after a reset"), st.lists(NODE, min_size=1, max_size=3)),
)


class Story:
    """A store through which a story goes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = SqliteStore(path)
        self.now = NOW
        self.turn = 1

    async def step(self, what: str, given: list[int]) -> None:
        """Do one thing; those who ask in one step ask at the same time."""
        self.turn += 1
        self.now += sum(given) if what == "wait" else 1
        if what == "ask after a reset":
            closed = Switch(name="breaker", on=False, since=self.now, by="zoe", reason="looked")
            await self.store.put_switch(closed)
        if what.startswith("ask"):
            asked = (self.store.lease(wanted(n, self.turn), LIMITS, self.now) for n in given)
            await asyncio.gather(*asked)
        if what == "release":
            for lease in await self.store.leases(self.now):
                if lease.node in {f"n-{node:03}" for node in given}:
                    await self.store.release(lease.id, None)
        if what == "hear" and given:
            await hear(self.store, self.turn, self.now, *given)
        if what == "restart":
            await self.store.close()
            self.store = SqliteStore(self.path)


@given(st.lists(STEPS, max_size=30))
@settings(deadline=None, max_examples=40)
def test_never_over_budget(steps: list[tuple[str, list[int]]]) -> None:
    """Asking at once, giving back, running out, restarts, resets: the budget holds at each step."""

    async def tell(path: Path) -> None:
        story = Story(path)
        await hear(story.store, 1, NOW, *range(NODES))
        for what, whom in steps:
            await story.step(what, whom)
            await right(story.store, story.now)
        await story.store.close()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gpudiag.db"
        SqliteStore.prepare(path)
        asyncio.run(tell(path))


async def outcomes(store: Store, *nodes: int, now: float = NOW) -> list[Decision]:
    """Let nodes ask one after the other."""
    return [await store.lease(wanted(node), LIMITS, now) for node in nodes]


async def test_all_at_once(store: Store) -> None:
    """Three of 150 that ask in the same moment, of racks and rails of their own, get one each."""
    await hear(store, 1, NOW, *range(NODES))
    decisions = await asyncio.gather(*(store.lease(wanted(n), LIMITS, NOW) for n in (0, 4, 8)))
    assert [True] * 3 == [decision.lease is not None for decision in decisions]


@pytest.mark.parametrize(
    ("second", "reason"),
    [(1, "n-000 is out already in rack=r0"), (6, "n-000 is out already in rail=su1-0")],
)
async def test_one_of_a_place(store: Store, second: int, reason: str) -> None:
    """Of a rack and of a rail one is out at once, though the budget allows more."""
    await hear(store, 1, NOW, *range(NODES))
    first, other = await outcomes(store, 0, second)
    assert (True, None, reason) == (first.lease is not None, other.lease, other.reason)


@pytest.mark.parametrize(("nodes", "most"), [(40, 3), (150, 3), (199, 3), (200, 4), (500, 10)])
async def test_the_breaker_counts_who_asks(store: Store, nodes: int, most: int) -> None:
    """More than max(3, 2 %) that ask within ten minutes open it, granted or refused alike."""
    await hear(store, 1, NOW, *range(nodes))
    decisions = await outcomes(store, *range(most + 1))
    assert [False] * most + [True] == [decision.trips for decision in decisions]


async def test_asking_slowly(store: Store) -> None:
    """Who asked more than ten minutes ago no longer counts, and the same node counts once."""
    await hear(store, 1, NOW, *range(NODES))
    await outcomes(store, 0, 1, 1, 1, 2)
    late = await outcomes(store, 3, 4, 5, now=NOW + 601)
    assert [False] * 3 == [decision.trips for decision in late]


async def test_a_silent_fleet_gives_no_room(store: Store) -> None:
    """Nodes unheard for a week do not widen the budget."""
    await hear(store, 1, NOW - 8 * 86_400, *range(NODES))
    await hear(store, 2, NOW, 0, 4)
    first, second = await outcomes(store, 0, 4)
    assert (True, "n-000 is out already, and 1 may be") == (first.lease is not None, second.reason)
