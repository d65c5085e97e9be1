"""A hot rack is one incident of the facility."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.fleet import facility
from aggregator.fleet.facility import Rise
from aggregator.fleet.mass import Case
from diagnostics.knowledge.pages import load


def hot(*times: float, place: str = "rack=r07") -> list[Case]:
    """Return nodes of one place that became hot at these times."""
    return [Case(node=f"n{n}", since=at, shares=(place,)) for n, at in enumerate(times)]


@pytest.mark.parametrize(
    ("cases", "found"),
    [
        (hot(0, 10, 20), []),
        (hot(0, 10, 20, 300), ["rack=r07"]),
        (hot(0, 10, 20, 301), []),
        (hot(-900, 0, 10, 20, 300), ["rack=r07"]),
        (hot(0, 1, 2, 3, place="feed=a2"), ["feed=a2"]),
        (hot(0, 1, 2, 3, place="image=v3"), []),
        (hot(0, 1, place="rack=r1") + hot(0, 1, place="rack=r2"), []),
        ([], []),
    ],
)
def test_over_three_nodes_within_five_minutes(cases: list[Case], found: list[str]) -> None:
    """What shares a rack or a feed and became hot together is one rise; an image is no place."""
    assert found == [rise.place for rise in facility.rises(cases)]


def test_all_that_are_hot_there() -> None:
    """Whoever is hot in that place belongs to it, since the first of those who rose together."""
    cases = hot(-9000, 100, 110, 120, 130)
    nodes = ("n0", "n1", "n2", "n3", "n4")

    assert (Rise(place="rack=r07", since=100, nodes=nodes),) == facility.rises(cases)


def test_one_node_with_many_faults_is_one() -> None:
    """Three faults of one node are no rise."""
    assert () == facility.rises([*hot(0, 1), *hot(2, 3), *hot(4, 5)])


def test_its_faults_are_known() -> None:
    """Each fault that means heat has a page."""
    assert set() == set(facility.FAULTS) - set(load())


@given(
    st.lists(
        st.builds(
            Case,
            node=st.sampled_from("abcdef"),
            since=st.floats(0, 2000),
            shares=st.lists(st.sampled_from(["rack=1", "rack=2", "feed=1"]), max_size=3).map(tuple),
        ),
        max_size=20,
    )
)
def test_never_of_few(cases: list[Case]) -> None:
    """A rise has over three nodes of its place."""
    shares = {(case.node, share) for case in cases for share in case.shares}

    assert all(
        len(rise.nodes) > 3 and {(node, rise.place) for node in rise.nodes} <= shares
        for rise in facility.rises(cases)
    )
