"""One cause behind many nodes, as a pure decision."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.fleet.mass import Case, objection

OWN = Case(node="a", since=1000.0, shares=("rack=r1", "switch=leaf-07"))


def cases(count: int, *shares: str, since: float = 1000.0) -> list[Case]:
    return [Case(node=f"n{number}", since=since, shares=shares) for number in range(count)]


@pytest.mark.parametrize(
    ("others", "refused"),
    [
        ([], False),
        (cases(2, "switch=leaf-07"), False),
        (cases(3, "switch=leaf-07"), True),
        (cases(9, "switch=leaf-08"), False),
        (cases(3, "switch=leaf-07", since=1300.0), True),
        (cases(3, "switch=leaf-07", since=1301.0), False),
        (cases(3, "switch=leaf-07", since=699.0), False),
    ],
)
def test_over_three_nodes(others: list[Case], *, refused: bool) -> None:
    """With three others of the same switch within five minutes it is no node's own fault."""
    assert refused == (objection("gpu_lost", OWN, [OWN, *others]) is not None)


def test_sentence() -> None:
    """The refusal names the fault, what is shared, and how many show it."""
    assert objection("gpu_lost", OWN, cases(4, "rack=r1")) == (
        "gpu_lost on 5 nodes of rack=r1 within 5 min: "
        "one incident of the infrastructure, no node is touched"
    )


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 2000), st.integers(0, 3)), max_size=40))
def test_refuses_exactly_over_three(seen: list[tuple[int, float, int]]) -> None:
    """Whatever stands on whatever nodes: refused where one share has over three in the window."""
    nodes = {n: Case(node=f"n{n}", since=at, shares=(f"rack=r{r}",)) for n, at, r in seen}
    near = sum(
        abs(one.since - OWN.since) <= 300.0 and one.shares == ("rack=r1",) for one in nodes.values()
    )
    assert (near + 1 > 3) == (objection("x", OWN, nodes.values()) is not None)
