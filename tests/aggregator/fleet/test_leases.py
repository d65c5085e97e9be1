"""Budgets and breaker as pure decisions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.fleet import leases
from aggregator.fleet.leases import Fleet, Lease, Limits, Wanted

LIMITS = Limits()
WANTED = Wanted(id="l", node="a", remedy="node.reboot", seconds=600, places=("rack=r1",))


def lease(node: str, *places: str) -> Lease:
    """Return a lease that is held."""
    return Lease(id=node, node=node, remedy="x", granted=0, expires=100, places=places)


def fleet(nodes: int = 1000, held: tuple[Lease, ...] = (), asked: int = 1, **facts: bool) -> Fleet:
    """Return a fleet in which *asked* nodes asked."""
    switches = {"paused": False, "breaker": False} | facts
    names = frozenset(["a", *(f"n{n}" for n in range(asked - 1))])
    return Fleet(
        nodes=nodes,
        held=held,
        asked=names,
        paused=switches["paused"],
        breaker=switches["breaker"],
    )


@pytest.mark.parametrize(
    ("nodes", "most"), [(0, 1), (1, 1), (99, 1), (100, 2), (149, 2), (1000, 20), (10_000, 200)]
)
def test_share(nodes: int, most: int) -> None:
    """Two of a hundred, never none."""
    assert most == leases.allowed_out(nodes, LIMITS)


@pytest.mark.parametrize(
    ("given_fleet", "reason"),
    [
        (fleet(paused=True), "all acting is paused by an operator"),
        (fleet(breaker=True), "the breaker is open: a person has to look and reset it"),
        (fleet(asked=21), "21 nodes asked within 10 min, more than 20: the breaker opens"),
        (fleet(10, asked=4), "4 nodes asked within 10 min, more than 3: the breaker opens"),
        (fleet(10, (lease("b"),)), "b is out already, and 1 may be"),
        (fleet(100, (lease("b"), lease("c"))), "b, c are out already, and 2 may be"),
        (fleet(1000, (lease("b", "rack=r1"),)), "b is out already in rack=r1"),
    ],
)
def test_refused(given_fleet: Fleet, reason: str) -> None:
    """Every refusal says which rule, with its numbers."""
    decision = leases.decide(WANTED, given_fleet, LIMITS, 5)
    assert (None, reason) == (decision.lease, decision.reason)


@pytest.mark.parametrize("given_fleet", [fleet(asked=20), fleet(10, asked=3), fleet(0)])
def test_granted(given_fleet: Fleet) -> None:
    """What is within all budgets is granted for the time that was asked."""
    decision = leases.decide(WANTED, given_fleet, LIMITS, 5)
    expected = Lease(
        id="l", node="a", remedy="node.reboot", granted=5, expires=605, places=("rack=r1",)
    )
    assert expected == decision.lease


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=80), st.integers(0, 400))
def test_never_over_budget(asking: list[tuple[int, int]], nodes: int) -> None:
    """Whoever asks in whatever order: never more are out than the budget, never two of a rack."""
    held: tuple[Lease, ...] = ()
    for number, rack in asking:
        wanted = Wanted(
            id=str(number), node=str(number), remedy="x", seconds=1, places=(f"rack={rack}",)
        )
        state = Fleet(nodes=nodes, held=held, asked=frozenset(), paused=False, breaker=False)
        decision = leases.decide(wanted, state, LIMITS, 0)
        if decision.lease is not None and not decision.renewed:
            held = (*held, decision.lease)
    racks = [lease.places for lease in held]
    assert (True, len(set(racks))) == (len(held) <= max(1, nodes * 2 // 100), len(racks))


@pytest.mark.parametrize(
    ("received", "now", "out"),
    [(None, 50, True), (99, 50, True), (99, 150, True), (None, 150, True), (120, 150, False)],
)
def test_out(received: float | None, now: float, out: bool) -> None:  # noqa: FBT001 - a column of the table
    """A lease that ended holds until the node is heard after its end."""
    assert out == leases.out(lease("a"), received, now)
