"""A run is compared with its own earlier steps, and only with those that are alike."""

import statistics

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.baseline import EARLIER, last_run, median, rise
from diagnostics.series.curve import Point


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_median(values: list[float]) -> None:
    """The middle value is the one that the standard library gives."""
    assert statistics.median(values) == median(values)


def test_a_restart_and_another_batch_size_are_left_out() -> None:
    """Steps since the number last fell, of the batch size of the last, are alike."""
    before = [Point(step=n, step_ms=1.0, batch=8) for n in range(1, 6)]
    ramp = [Point(step=n, step_ms=2.0, batch=8) for n in range(3, 5)]
    now = [Point(step=n, step_ms=3.0, batch=16) for n in range(5, 8)]

    assert now == last_run([*before, *ramp, *now])


def test_points_without_numbers_are_one_run() -> None:
    """DeepSpeed prints no step beside its timers."""
    points = [Point(step_ms=float(n)) for n in range(5)]

    assert points == last_run(points)


def test_a_short_run_has_no_baseline() -> None:
    """One point fewer than needed says nothing; with it, the medians of both sides are told."""
    points = [Point(step_ms=10.0)] * EARLIER + [Point(step_ms=30.0)] * 3
    grown = rise(points, lambda point: point.step_ms, 3)

    assert rise(points[1:], lambda point: point.step_ms, 3) is None
    assert grown is not None
    assert (10.0, 30.0, 30.0, EARLIER) == (grown.before, grown.now, grown.least, grown.earlier)
