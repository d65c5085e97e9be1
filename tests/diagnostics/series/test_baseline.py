"""A run is compared with its own earlier steps, and only with those that are alike."""

import statistics

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.baseline import EARLIER, alike, grown, since_start
from diagnostics.series.middle import deviation, median
from diagnostics.series.point import Point


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_median(values: list[float]) -> None:
    """The middle value is the one that the standard library gives."""
    assert statistics.median(values) == median(values)


def test_a_deviation_is_that_of_most_values() -> None:
    """One value far off does not move it."""
    assert deviation([9.0, 10.0, 11.0], 10.0) == deviation([9.0, 10.0, 11.0, 10.0, 900.0], 10.0)


def test_a_restart_and_another_batch_size_are_left_out() -> None:
    """Steps since the number last fell, of the batch size of the last, are alike."""
    before = [Point(step=n, step_ms=1.0, batch=8) for n in range(1, 6)]
    ramp = [Point(step=n, step_ms=2.0, batch=8) for n in range(3, 5)]
    now = [Point(step=n, step_ms=3.0, batch=16) for n in range(5, 8)]
    without = [Point(skipped=1)]

    assert [*now, *without] == alike([*before, *ramp, *now, *without])
    assert [*ramp, *now] == since_start([*before, *ramp, *now])


def test_points_without_numbers_are_one_run() -> None:
    """DeepSpeed prints no step beside its timers."""
    points = [Point(step_ms=float(n)) for n in range(5)]

    assert points == alike(points)


def test_a_short_run_has_no_baseline() -> None:
    """One point fewer than needed says nothing; with it, the first slow point is named."""
    points = [Point(step=n, step_ms=10.0 if n < EARLIER else 30.0) for n in range(EARLIER + 3)]
    slow = grown(points, lambda point: point.step_ms, ratio=1.5, recent=3)

    assert grown(points[1:], lambda point: point.step_ms, ratio=1.5, recent=3) is None
    assert slow is not None
    assert (EARLIER, 10.0, 30.0) == (slow.since.step, slow.change.before, slow.change.now)


def test_long_steps_need_no_twenty() -> None:
    """Of steps of two minutes each three and two are enough: that is ten minutes of work."""
    times = (121.0, 120.6, 121.2, 127.9, 128.3)
    points = [Point(step=n, step_ms=s * 1e3) for n, s in enumerate(times)]
    slow = grown(
        points,
        lambda point: point.step_ms,
        ratio=1.05,
        recent=10,
        seconds=lambda point: (point.step_ms or 0.0) / 1e3,
    )

    assert slow is not None
    assert 3 == slow.since.step


def test_three_slow_minutes_need_no_thirty_steps() -> None:
    """Twelve steps of 2 s, then four of a minute: no checkpoint; two of them could be one."""
    times = [2.0, 2.1, 1.9] * 4 + [61.0, 64.0, 59.0, 60.0]
    points = [Point(step=n, step_ms=s * 1e3) for n, s in enumerate(times)]

    def found(steps: list[Point]) -> int | None:
        slow = grown(
            steps,
            lambda point: point.step_ms,
            ratio=1.05,
            recent=10,
            seconds=lambda point: (point.step_ms or 0.0) / 1e3,
        )
        return slow.since.step if slow else None

    assert [12, None, None] == [found(points), found(points[:-2]), found(points[:12])]
