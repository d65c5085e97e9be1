"""Who probes whom when: no storm, every pair covered, one probe at a time a node."""

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from collectors.network.schedule import ROUND_S, STEPS, Turn, partner, turns

COUNTS = st.integers(2, 40)
ROUNDS = st.integers(0, 10_000_000)


def names(count: int) -> list[str]:
    return [f"gpu-{number:03}" for number in range(1, count + 1)]


def all_turns(rails: dict[str, list[str]], number: int) -> list[tuple[str, Turn]]:
    nodes = sorted({name for rail in rails.values() for name in rail})
    return [(own, turn) for own in nodes for turn in turns(own, rails, number)]


@given(COUNTS, ROUNDS)
def test_meeting_is_mutual(count: int, number: int) -> None:
    """Whoever a node meets in a round meets that node, and nobody meets itself."""
    met = {index: partner(index, count, number) for index in range(count)}

    back = {
        index: partner(other, count, number) for index, other in met.items() if other is not None
    }
    assert {index: index for index, other in met.items() if other is not None} == back
    assert [] == [index for index, other in met.items() if other == index]


@given(COUNTS, ROUNDS)
def test_at_most_one_rests(count: int, number: int) -> None:
    """In each round all nodes are busy, but for one where their number is odd."""
    resting = [index for index in range(count) if partner(index, count, number) is None]

    assert count % 2 == len(resting)


@given(COUNTS, ROUNDS)
def test_every_pair_is_covered(count: int, number: int) -> None:
    """In as many rounds as a node has others, each pair is probed; in twice as many, both ways."""
    rails = {"": names(count)}
    rounds = (count + 1) // 2 * 2 - 1
    probed = Counter(
        (own, turn.peer)
        for later in range(2 * rounds)
        for own, turn in all_turns(rails, rounds * (number // rounds) + later)
    )

    assert dict.fromkeys(itertools.permutations(names(count), 2), 1) == dict(probed)


@given(st.integers(2, 12), st.integers(1, 9), ROUNDS)
def test_one_probe_at_a_time(count: int, rail_count: int, number: int) -> None:
    """A node makes or gets at most one probe in each step of each turn: nothing can add up."""
    rails = {f"mlx5_{rail}": names(count) for rail in range(rail_count)}
    step = ROUND_S / (rail_count + (rail_count > 1)) / STEPS
    busy = Counter(
        (node, int((turn.starts - number * ROUND_S) / step))
        for own, turn in all_turns(rails, number)
        for node in (own, turn.peer)
    )

    assert [] == [key for key, probes in busy.items() if probes > 1]


@given(st.integers(2, 12), st.integers(1, 9), ROUNDS)
def test_second_looks_do_not_storm(count: int, rail_count: int, number: int) -> None:
    """Were every probe of a round to fail, no node would be asked by two in one step."""
    rails = {f"mlx5_{rail}": names(count) for rail in range(rail_count)}
    step = ROUND_S / (rail_count + (rail_count > 1)) / STEPS
    asked = Counter(
        (whom, int((when - number * ROUND_S) / step))
        for _, turn in all_turns(rails, number)
        for when, whom in turn.instead
    )

    assert [] == [key for key, probes in asked.items() if probes > 1]


@given(st.integers(2, 12), st.integers(1, 9), ROUNDS)
def test_a_round_stays_in_its_time(count: int, rail_count: int, number: int) -> None:
    """All that belongs to a round begins within it."""
    rails = {f"mlx5_{rail}": names(count) for rail in range(rail_count)}
    times = [
        when
        for _, turn in all_turns(rails, number)
        for when in (turn.starts, *(when for when, _ in turn.instead))
    ]

    assert [] == [when for when in times if not 0 <= when - number * ROUND_S < ROUND_S]


def test_a_sample_goes_across_rails() -> None:
    """Each round has one probe from a rail to another, and in time from each to each."""
    rails = {f"mlx5_{rail}": names(2) for rail in range(3)}
    across = {
        (turn.rail, turn.peer_rail)
        for number in range(6)
        for _, turn in all_turns(rails, number)
        if turn.rail != turn.peer_rail
    }

    assert set(itertools.permutations(rails, 2)) == across


def test_a_node_that_is_not_listed_asks_nobody() -> None:
    """Who is in no rail's list has no turn."""
    assert [] == list(turns("login-1", {"": names(4)}, 7))


def test_ten_thousand_nodes_make_half_as_many_probes() -> None:
    """A rail of 10,000 nodes makes 5,000 probes a round: each node takes part in one."""
    made = [partner(index, 10_000, 5) for index in range(10_000)]

    assert set(range(10_000)) == set(made)
