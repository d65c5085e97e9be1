"""What the steps before a NaN suggest, and what would tell it from the other causes."""

import pytest

from diagnostics.series.by_rank import Elsewhere
from diagnostics.series.point import Point
from diagnostics.series.triage import APART, triage

CALM = [Point(step=n, loss=2.3, grad_norm=0.3) for n in range(30)]
STEEP = [Point(step=30 + n, loss=2.4 + n / 5, grad_norm=0.3 * 4**n) for n in range(5)]
HIGH = [Point(step=30 + n, loss=2.4 + n) for n in range(5)]
LOWERED = [Point(step=30 + n, loss=2.3, loss_scale=2.0 ** (16 - n)) for n in range(4)]


@pytest.mark.parametrize(
    ("points", "ranks", "broken", "cause"),
    [
        (CALM, [], False, "data"),
        ([*CALM, *STEEP], [], False, "learning rate"),
        ([*CALM, *HIGH], [], False, "learning rate"),
        ([*CALM, *LOWERED], [], False, "precision"),
        (CALM, [6], False, "hardware"),
        (CALM, [0, 1, 2, 3], False, "data"),
        ([*CALM, *LOWERED], [], True, "hardware"),
        (CALM[:4], [], False, "unknown"),
        ([], [], False, "unknown"),
    ],
)
def test_triage(points: list[Point], ranks: list[int], *, broken: bool, cause: str) -> None:
    """A broken GPU counts before a lone rank, a falling scale before a growing gradient."""
    lead = triage(points, ranks, broken=broken)

    assert cause == lead.cause
    assert APART[lead.cause] == lead.apart


def test_a_rank_that_is_alone_in_its_step() -> None:
    """Seven ranks print a finite loss in the step in which rank 6 has none."""
    others = Elsewhere(step=31, bad=(6,), clean=(0, 1, 2, 3, 4, 5, 7))
    lead = triage([*CALM, *LOWERED], [], broken=False, elsewhere=others)
    assert ("hardware", True) == (
        lead.cause,
        "rank 6 alone is not finite in step 31, where 7 others are finite" in lead.why,
    )


def test_a_step_that_is_bad_on_all_ranks_says_nothing_of_one() -> None:
    """What all ranks have comes with the gradients that they share."""
    others = Elsewhere(step=31, bad=(0, 1, 2, 3), clean=())
    assert "precision" == triage([*CALM, *LOWERED], [], broken=False, elsewhere=others).cause
