"""Counters as rates: differences only, by their time, with resets, for a minute and an hour."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from collectors.network.rising import HOUR_S, READINGS, Rises, Rising


def fed(*readings: tuple[float, int]) -> Rises:
    """Return what rose of one counter that was read at these times."""
    rising = Rising()
    for at, value in readings:
        rising.take({"mlx5_0/1": {"symbol_error": value}}, at)
    (rises,) = rising.rises()
    return rises


def test_one_reading_says_nothing() -> None:
    """However high a counter stands, it may have stood there since last week."""
    assert Rises(name="mlx5_0/1") == fed((0.0, 7_118_204))


def test_a_rate_is_the_difference_by_its_time() -> None:
    """310 more in 10 s are 31 a second, and 310 in the hour."""
    expected = Rises(name="mlx5_0/1", per_s={"symbol_error": (31.0,)}, hour={"symbol_error": 310})
    assert expected == fed((0.0, 100), (10.0, 410))


def test_a_counter_that_was_reset_did_not_rise() -> None:
    """A value below the one before is a reset: no rate, and no negative one."""
    rises = fed((0.0, 500), (10.0, 3), (20.0, 13))

    assert ((0.0, 1.0), 10) == (rises.per_s["symbol_error"], rises.hour["symbol_error"])


def test_steadily_is_the_least_of_the_last_readings() -> None:
    """A burst of one reading is no steady rate."""
    burst = fed((0.0, 0), (10.0, 0), (20.0, 900), (30.0, 900))
    steady = fed((0.0, 0), (10.0, 300), (20.0, 610), (30.0, 900))

    assert (0.0, 29.0) == (burst.steadily("symbol_error", 3), steady.steadily("symbol_error", 3))


def test_an_hour_ends() -> None:
    """What rose more than an hour ago is in no sum."""
    rises = fed((0.0, 0), (10.0, 50), (HOUR_S + 10.0, 50), (HOUR_S + 20.0, 57))

    assert 7 == rises.hour["symbol_error"]


def test_a_thing_that_left_and_came_back_starts_anew() -> None:
    """A card that was reset is another card to its counters."""
    rising = Rising()
    rising.take({"mlx5_0/1": {"symbol_error": 5}}, 0.0)
    rising.take({}, 10.0)
    rising.take({"mlx5_0/1": {"symbol_error": 905}}, 20.0)

    assert [Rises(name="mlx5_0/1")] == list(rising.rises())


@given(st.lists(st.integers(0, 1 << 63), min_size=2, max_size=30))
def test_no_rate_is_negative_and_few_are_kept(values: list[int]) -> None:
    """Whatever a counter shows, rates are not negative, and the hour holds every rise."""
    rises = fed(*((10.0 * n, value) for n, value in enumerate(values)))
    ups = sum(max(b - a, 0) for a, b in itertools.pairwise(values))
    rates = rises.per_s.get("symbol_error", ())

    assert (True, True, ups) == (
        all(rate >= 0 for rate in rates),
        len(rates) <= READINGS,
        rises.hour.get("symbol_error", 0),
    )
