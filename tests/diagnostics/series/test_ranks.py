"""The rank that works longer than its siblings is named, by its own times or by a report."""

import random

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.by_rank import RankTimes
from diagnostics.series.drawn import Laggard
from diagnostics.series.ranks import named, slowest


def ranks(seed: int, slow: dict[int, float], count: int = 8) -> list[RankTimes]:
    """Return times around 200 ms with noise of 2 %, some ranks slower."""
    chance = random.Random(seed)  # noqa: S311 - noise that can be repeated, no secret
    return [
        RankTimes(
            rank=rank,
            work_ms=tuple(chance.gauss(200, 4) * slow.get(rank, 1.0) for _ in range(16)),
            line=rank + 1,
            text=f"[rank{rank}]: step: 16",
        )
        for rank in range(count)
    ]


@given(st.integers(0, 2**32), st.integers(0, 7))
def test_a_rank_that_is_a_fifth_slower_is_named(seed: int, rank: int) -> None:
    """One of eight, in noise of 2 %."""
    assert [rank] == [s.rank for s in slowest(ranks(seed, {rank: 1.2}), ratio=1.1, steps=10)]


@given(st.integers(0, 2**32), st.integers(2, 64))
def test_alike_ranks_are_not_named(seed: int, count: int) -> None:
    """However many there are, none is slow where all work alike."""
    assert [] == slowest(ranks(seed, {}, count), ratio=1.1, steps=10)


def test_one_rank_has_no_siblings() -> None:
    """Times of one rank say nothing of the others."""
    assert [] == slowest(ranks(1, {0: 9.0}, 1), ratio=1.1, steps=10)


def test_a_report_has_to_name_it_again_and_again() -> None:
    """Nine of ten reports name rank 3, 12 % over the fastest; once, or by 2 %, is not enough."""
    nine = [Laggard(rank=3, slow_ms=336.0, fast_ms=300.0, line=n, text="") for n in range(9)]
    other = [Laggard(rank=1, slow_ms=336.0, fast_ms=300.0, line=9, text="")]
    near = [Laggard(rank=3, slow_ms=306.0, fast_ms=300.0, line=n, text="") for n in range(10)]
    slow = named([*nine, *other], ratio=1.1, steps=10)

    assert slow is not None
    assert (3, 336.0, 300.0) == (slow.rank, slow.own_ms, slow.others_ms)
    assert [None, None, None] == [
        named(reports, ratio=1.1, steps=10) for reports in (nine[:1], near, other * 5)
    ]
