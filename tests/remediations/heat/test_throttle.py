"""When a limit goes down, stays and goes up, one sample after the other."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remediations.heat.throttle import HANDED_OVER, Pace, Seen, State, step
from tests.remediations.heat.patient import Patient

HOT, WARM, COOL = {"margin_c": 0.0}, {"margin_c": 3.0}, {"margin_c": 5.0}


def capped(steps: int = 1) -> Patient:
    """Return a GPU that was hot until it was lowered so many steps."""
    gpu = Patient()
    while len(gpu.orders) < steps:
        gpu.sample(**HOT)
    return gpu


def test_five_of_ten_samples() -> None:
    """The fifth hot sample of ten lowers the limit by a tenth of the default, no earlier one."""
    gpu = Patient()
    kinds = [gpu.sample(**(HOT if number % 2 else COOL)).kind for number in range(10)]

    assert (["keep"] * 9 + ["down"], 630_000) == (kinds, gpu.limit)


def test_four_of_ten_are_not_enough() -> None:
    """What is hot in four of ten samples stays as it is, for ever."""
    gpu = Patient()
    kinds = [gpu.sample(**(HOT if n % 10 < 4 else WARM)).kind for n in range(200)]

    assert {"keep"} == set(kinds)


def test_slowdown_counts_as_heat() -> None:
    """Where the time in thermal slowdown grows the GPU is hot, whatever margin it tells."""
    gpu = Patient()
    kinds = [gpu.sample(margin_c=8.0, slowed_ns=n * 2_000_000_000).kind for n in range(6)]

    assert ["keep"] * 5 + ["down"] == kinds


def test_no_time_is_no_slowdown() -> None:
    """A counter that moves by a microsecond, or starts anew, is no slowdown."""
    gpu = Patient()
    counts = [0, 1000, 2000, 3000, 0, 1000, 2000, 3000, 4000, 5000, 6000, 7000]
    kinds = [gpu.sample(margin_c=8.0, slowed_ns=count).kind for count in counts]

    assert {"keep"} == set(kinds)


def test_five_minutes_between_steps() -> None:
    """While it stays hot the next step comes after 5 min, until the floor is reached."""
    gpu = Patient()
    gpu.samples(100, **HOT)
    times = [at for at, _ in gpu.orders]
    gaps = [later - at for at, later in itertools.pairwise(times)]

    expected = ([630_000, 560_000, 490_000, 420_000], [300.0] * 3)
    assert expected == ([order.limit for _, order in gpu.orders], gaps)


def test_a_person_is_called_at_the_floor() -> None:
    """What is hot at the lowest limit is handed over: the cap stays, and a person is called."""
    gpu = capped(4)
    gpu.samples(12, **HOT)
    last = gpu.sample(**HOT)

    assert ("keep", True, "floor", 420_000) == (last.kind, last.page, gpu.state.phase, gpu.limit)


def test_the_drivers_minimum_is_a_floor_too() -> None:
    """A driver's minimum above 60 % of the default is the floor; a last step may be a short one."""
    gpu = Patient(least=600_000)
    gpu.samples(60, **HOT)

    assert [630_000, 600_000] == [order.limit for _, order in gpu.orders]


def test_fifteen_minutes_cool_are_one_step_up() -> None:
    """After 15 min at a margin of 5 one step goes up; at the end what was before is put back."""
    gpu = capped(3)
    began = gpu.now_s
    kinds = gpu.samples(100, **COOL)
    times = [at - began for at, _ in gpu.orders[3:]]

    expected = (["up", "up", "lift"], [930.0, 1830.0, 2730.0], 700_000)
    assert expected == (kinds, times, gpu.limit)


def test_one_warm_sample_begins_the_time_anew() -> None:
    """A margin below 5 in the fifteenth minute makes it wait 15 min more."""
    gpu = capped()
    gpu.samples(30, **COOL)
    gpu.sample(**WARM)

    assert [] == gpu.samples(30, **COOL)


def test_between_hot_and_cool_all_stays() -> None:
    """At a margin of 3 a cap neither goes down nor up."""
    gpu = capped()

    assert [] == gpu.samples(500, **WARM)


@pytest.mark.parametrize("why", [{"braked": True}, {"supply_lost": True}])
def test_a_brake_is_no_heat(why: dict[str, bool]) -> None:
    """With the power brake on, or a supply lost, nothing is capped and a person is called."""
    gpu = Patient()
    kinds = gpu.samples(50, **HOT, **why)
    last = gpu.sample(**HOT, **why)

    assert ([], True, "braked") == (kinds, last.page, gpu.state.phase)


def test_nobody_is_called_for_nothing() -> None:
    """A brake on a cool GPU, and blindness where nothing is capped, are others' to tell."""
    braked, blind = Patient(), Patient()
    pages = [braked.sample(**COOL, braked=True).page, blind.sample(bmc="silent").page]

    assert [False, False] == pages


@pytest.mark.parametrize("bmc", ["silent", "lying"])
def test_held_15_minutes_then_by_the_driver_alone(bmc: str) -> None:
    """A BMC that falls silent or lies holds all for 15 min; then the driver's word is enough."""
    gpu = Patient()
    began = gpu.now_s + 30
    gpu.samples(60, **HOT, bmc=bmc)
    first = gpu.orders[0][0] - began

    assert 900.0 + 4 * 30 == first


def test_a_sensor_that_comes_and_goes_holds_no_longer() -> None:
    """A BMC that speaks once in 5 min does not hold what is hot for ever."""
    gpu = Patient()
    for number in range(60):
        gpu.sample(**HOT, bmc="cool" if number % 10 == 9 else "silent")

    assert [630_000] == [order.limit for _, order in gpu.orders][:1]


def test_a_bmc_alone_needs_two_sensors() -> None:
    """Where the driver is blind, two sensors that agree begin a cap; a single one does not."""
    two, one = Patient(), Patient()
    two.samples(5, bmc="hot")
    one.samples(50, bmc="single")

    assert ([630_000], []) == ([o.limit for _, o in two.orders], one.orders)


def test_a_bmc_does_not_overrule_the_driver() -> None:
    """Where the driver tells a good margin, hot sensors of the BMC cap nothing."""
    gpu = Patient()

    assert [] == gpu.samples(100, **COOL, bmc="hot")


@pytest.mark.parametrize("bmc", ["none", "silent", "lying", "single"])
def test_both_blind(bmc: str) -> None:
    """Where neither tells a temperature the cap is kept, and a person is called."""
    gpu = capped(2)
    kinds = gpu.samples(200, bmc=bmc)
    last = gpu.sample(bmc=bmc)

    assert ([], True, "blind", 560_000) == (kinds, last.page, gpu.state.phase, gpu.limit)


def test_it_goes_on_when_it_sees_again() -> None:
    """What was blind and is told to be cool goes up again, and is restored."""
    gpu = capped()
    gpu.samples(50, bmc="silent")

    assert ["lift"] == gpu.samples(70, **COOL, bmc="cool")


def test_anothers_limit() -> None:
    """A limit that is not ours is left as it is, however hot it is, and a person is called."""
    gpu = Patient()
    gpu.limit = 500_000
    kinds = gpu.samples(50, **HOT)
    last = gpu.sample(**HOT)

    assert ([], True, "foreign") == (kinds, last.page, gpu.state.phase)


def test_a_limit_that_is_not_told() -> None:
    """A GPU whose limit the driver does not tell is not capped."""
    gpu = Patient()
    kinds = [gpu.sample(margin_c=-3.0, limit=None) for _ in range(20)]

    assert ({"keep"}, True) == ({order.kind for order in kinds}, kinds[-1].page)


def test_a_sample_too_early_is_none() -> None:
    """Looking every second makes nothing faster."""
    gpu = Patient()
    orders = [gpu.sample(1.0, **HOT).kind for _ in range(96)]

    assert ["keep"] * 96 == orders


def test_a_gap_is_forgotten() -> None:
    """After ten minutes unseen, samples and the cool time of before count no more."""
    gpu = capped()
    gpu.samples(28, **COOL)
    gpu.sample(600.0, **COOL)

    assert "keep" == gpu.sample(**COOL).kind


@pytest.mark.parametrize("after", range(1, 40))
def test_killed_in_any_state(after: int) -> None:
    """An agent that is killed after any sample goes on with the cap, and ends restored."""
    gpu = Patient()
    gpu.samples(after, **HOT)
    gpu.restart()
    steps = [at for at, order in gpu.orders if order.kind == "down"]
    gpu.samples(40, **HOT)
    steps = [at for at, order in gpu.orders if order.kind == "down"]
    gpu.samples(200, **COOL)
    gaps = [later - at for at, later in itertools.pairwise(steps)]

    assert (700_000, False, True) == (gpu.limit, gpu.held, all(gap >= 300.0 for gap in gaps))


def test_a_quicker_pace() -> None:
    """A rehearsal shortens every time by one factor."""
    quick = Pace().times(0.01)

    assert (0.3, 3.0, 9.0, 9.0) == (quick.sample_s, quick.hold_s, quick.up_s, quick.distrust_s)


SAID = st.fixed_dictionaries(
    {},
    optional={
        "margin_c": st.none() | st.floats(-30, 60),
        "slowed_ns": st.none() | st.integers(0, 1 << 40),
        "bmc": st.sampled_from(["none", "single", "cool", "warm", "hot", "silent", "lying"]),
        "braked": st.booleans(),
        "supply_lost": st.booleans(),
    },
)
GAPS = st.sampled_from([1.0, 24.0, 30.0, 31.0, 61.0, 400.0])


@settings(max_examples=150, deadline=None)
@given(
    default=st.integers(50_000, 1_500_000),
    least=st.integers(1_000, 1_500_000),
    told=st.lists(st.tuples(GAPS, SAID, st.booleans()), max_size=120),
)
def test_whatever_comes(
    default: int, least: int, told: list[tuple[float, dict[str, Any], bool]]
) -> None:
    """Never below the floor, never above what was, never faster; and cool for long is restored."""
    gpu = Patient(default, min(least, default))
    limits = [gpu.limit]
    for gap, said, killed in told:
        if killed:
            gpu.restart()
        gpu.sample(gap, **said)
        limits.append(gpu.limit)
    downs = [at for at, order in gpu.orders if order.kind == "down"]
    ups = [at for at, order in gpu.orders if order.kind in ("up", "lift")]
    fell = [before - after for before, after in itertools.pairwise(limits)]
    gpu.samples(10 * 31 + 60, margin_c=20.0, slowed_ns=0, bmc="cool")

    assert min(limits) >= gpu.floor
    assert max(limits) == default
    assert max(fell, default=0) <= default // 10
    assert all(b - a >= 300.0 for a, b in itertools.pairwise(downs))
    assert all(b - a >= 900.0 for a, b in itertools.pairwise(ups))
    assert (default, False) == (gpu.limit, gpu.held)


@settings(max_examples=100, deadline=None)
@given(before=st.lists(SAID, max_size=40), said=SAID)
def test_it_always_ends(before: list[dict[str, Any]], said: dict[str, Any]) -> None:
    """However it began, under one unchanging word it ends without a cap, in a person's hands, or
    holds a cap whose GPU is neither hot nor cool.
    """
    gpu = Patient()
    for one in before:
        gpu.sample(**one)
    for _ in range(400):
        order = gpu.sample(**said)
    margin = said.get("margin_c")
    between = (margin is None and said.get("bmc") == "warm") or (
        isinstance(margin, float) and 0.0 < margin < 5.0
    )
    handed = gpu.state.phase in HANDED_OVER and order.page

    assert not gpu.held or handed or between


@given(said=SAID, at=st.floats(0, 1e9))
def test_no_word_raises(said: dict[str, Any], at: float) -> None:
    """Nothing that can be seen raises, and a start changes nothing at once."""
    _, order = step(State(), Seen(at_s=at, **said))

    assert "keep" == order.kind
