"""A loss that jumps is told from one that is noisy, falls steeply, or begins anew."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.point import Point
from diagnostics.series.spike import last_spike


def run(losses: list[float], norms: list[float] | None = None) -> list[Point]:
    """Return the points of some losses, and of their gradient norms where there are any."""
    return [
        Point(step=n, loss=loss, grad_norm=norms[n] if norms else None)
        for n, loss in enumerate(losses)
    ]


@given(st.integers(0, 2**32), st.floats(0.01, 0.4), st.integers(3, 300))
def test_noise_is_no_spike(seed: int, spread: float, count: int) -> None:
    """A falling loss with up to 40 % of noise, as small batches have, has no certain spike."""
    chance = random.Random(seed)  # noqa: S311 - noise that can be repeated, no secret
    losses = [
        (1.5 + 8 * 0.97**n) * (1 + spread * (chance.random() - 0.5) * 2) for n in range(count)
    ]
    spike = last_spike(run(losses))

    assert spike is None or not spike.certain


@given(st.integers(20, 300), st.integers(3, 40), st.floats(3.6, 12.0))
def test_a_jump_that_lasts_is_found(before: int, after: int, peak: float) -> None:
    """From 2.3 to half as much again and above: where it began, and that it did not come back."""
    spike = last_spike(run([2.3 + 0.01 * (n % 3) for n in range(before)] + [peak] * after))

    assert spike is not None
    assert (before, None, after) == (spike.first.step, spike.back, spike.high)


def test_it_came_back() -> None:
    """The last losses on their course, and how many were printed since."""
    spike = last_spike(run([2.3] * 30 + [5.0, 4.0, 3.6] + [2.35] * 8))

    assert spike is not None
    assert spike.back is not None
    assert (8, 3, 2.35) == (spike.after, spike.high, spike.back.loss)


@pytest.mark.parametrize("steep", [2.0, 20.0])
def test_few_steps_need_the_gradient(steep: float) -> None:
    """With a baseline of four losses one high one is a spike only where the gradient says so."""
    spike = last_spike(run([2.3, 2.31, 2.29, 2.3, 4.1], [1.0, 1.0, 1.0, 1.0, steep]))

    assert (spike is not None) is (steep >= 10)


@given(st.lists(st.one_of(st.none(), st.floats()), max_size=80))
def test_any_losses_are_judged(losses: list[float | None]) -> None:
    """Whatever is printed, nothing raises, and a peak is above what was before."""
    spike = last_spike([Point(loss=loss) for loss in losses])

    assert spike is None or (spike.peak.loss or 0.0) > spike.before
