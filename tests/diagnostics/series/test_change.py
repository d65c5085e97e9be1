"""A lasting rise is found where it began; jitter, long single steps and noise are none."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.change import Change, rise

SEEDS = st.integers(0, 2**32)


def noisy(seed: int, count: int, spread: float = 0.01) -> list[float]:
    """Return times around 100 with some noise and, as in life, a rare one three times as long."""
    chance = random.Random(seed)  # noqa: S311 - noise that can be repeated, no secret
    return [
        chance.gauss(100, 100 * spread) * (3 if chance.random() < 0.02 else 1) for _ in range(count)
    ]


def found(values: Sequence[float]) -> Change | None:
    """Return the rise that the step times' limits find."""
    return rise(values, ratio=1.05, recent=10, earlier=20)


@given(SEEDS, st.integers(30, 300))
def test_noise_is_no_change(seed: int, count: int) -> None:
    """Steps that vary by 1 %, with rare long ones, never rise."""
    assert found(noisy(seed, count)) is None


@given(SEEDS, st.integers(60, 200), st.integers(15, 60), st.floats(1.07, 3.0))
def test_a_lasting_rise_is_found(seed: int, before: int, after: int, times: float) -> None:
    """A rise of 7 % or more, in noise of 1 %, is found where it began, give or take two."""
    values = noisy(seed, before) + [v * times for v in noisy(seed + 1, after)]
    change = found(values)

    assert change is not None
    assert abs(change.at - before) <= 2


@given(SEEDS, st.integers(60, 200), st.integers(2, 9), st.floats(1.05, 50.0))
def test_single_long_steps_are_none(seed: int, count: int, every: int, times: float) -> None:
    """Evaluation each few steps, however long, the last one too, is no lasting rise."""
    values = noisy(seed, count)
    for place in range(count - 1, -1, -every - 1):
        values[place] *= times

    assert found(values) is None


@given(SEEDS, st.integers(60, 200), st.integers(10, 30))
def test_a_rise_that_is_over_is_none(seed: int, before: int, long: int) -> None:
    """Steps that are as short as ever again have nothing to tell."""
    slow = [v * 1.5 for v in noisy(seed + 1, long)]

    assert found(noisy(seed, before) + slow + noisy(seed + 2, 3, 0.001)) is None


@given(st.lists(st.floats(0, 1e12), max_size=120))
def test_any_values_are_judged(values: list[float]) -> None:
    """Whatever the times are, what is found lies in them and is a rise."""
    change = found(values)

    assert change is None or (20 <= change.at <= len(values) - 10 and change.now > change.before)


def test_a_fall_is_no_rise() -> None:
    """Steps that get shorter for good are welcome."""
    assert found([100.0] * 40 + [80.0] * 40) is None


def test_the_longest_curve_is_judged_quickly() -> None:
    """Of 40,000 steps the earlier ones are bounded: the last stretch is found all the same."""
    change = found(noisy(3, 39_000) + [v * 1.06 for v in noisy(4, 1_000)])

    assert change is not None
    assert 2_000 == change.earlier
