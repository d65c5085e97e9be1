"""A node is compared with its own hours: slowly learnt, and never by a moment."""

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.series.usual import ENOUGH, HOUR, KEPT, LEAST, VALUES, Hours, Usual, usual

RATE = "nfs_rtt_ms /data"


def taken(hours: Hours, value: float, begin_h: int, count: int = 1) -> None:
    """Give whole hours of one value, twice a minute."""
    for n in range(count * 120):
        hours.take({RATE: value}, begin_h * HOUR + n * 30.0)


def test_an_hour_is_kept_when_it_has_ended() -> None:
    """The mean of its values, once the next hour begins; a moment in it moves the mean alone."""
    hours = Hours()
    taken(hours, 4.0, 0)
    open_, ended = dict(hours.means), hours.take({RATE: 9_000.0}, HOUR)

    assert ({}, True, {RATE: (4.0,)}) == (open_, ended, hours.means)


def test_an_hour_of_a_few_values_is_none() -> None:
    """An agent that ran for some minutes of an hour does not know that hour."""
    hours = Hours()
    for n in range(VALUES - 1):
        hours.take({RATE: 4.0}, n * 30.0)

    assert (False, {}) == (hours.take({RATE: 4.0}, HOUR), hours.means)


def test_a_restart_goes_on() -> None:
    """What was written is read again, and only a week of it."""
    hours = Hours({RATE: [1.0] * (KEPT + 5)})
    taken(hours, 4.0, 7)
    hours.take({}, 8 * HOUR)

    assert (KEPT, 4.0) == (len(hours.means[RATE]), hours.means[RATE][-1])


def test_too_few_hours_say_nothing() -> None:
    """Nothing below six hours, a guess below a day, and known then."""
    told = [usual([3.0] * (n + 1)) for n in (0, LEAST - 1, LEAST, ENOUGH)]

    assert [None, None, True, False] == [one if one is None else one.provisional for one in told]


def test_a_jump_stands_out_and_a_habit_does_not() -> None:
    """Five times the usual for an hour; not where such hours come and go, nor what is fast."""
    steady = usual([3.0, 3.2, 2.9] * 10 + [40.0])
    restless = usual([3.0, 40.0, 80.0, 5.0] * 8 + [60.0])
    assert steady is not None
    assert restless is not None

    assert [True, False, False] == [
        steady.above(5.0, 20.0),
        steady.above(5.0, 50.0),
        restless.above(5.0, 20.0),
    ]


@given(st.lists(st.floats(0, 1e9), max_size=200))
def test_any_hours_can_be_judged(hours: list[float]) -> None:
    """Whatever was kept, it is judged; equal hours never stand out."""
    known = usual(hours)
    alike = usual([hours[0]] * 30) if hours else None

    assert known is None or isinstance(known, Usual)
    assert alike is None or not alike.above(1.1, 0.0)


@given(st.dictionaries(st.text(max_size=8), st.floats(0, 1e6), max_size=5), st.floats(0, 1e7))
def test_any_rates_can_be_taken(values: dict[str, float], at: float) -> None:
    """Names and times of any kind leave no more hours than have ended."""
    hours = Hours()
    for n in range(3):
        hours.take(values, at + n * HOUR)

    assert {} == hours.means
