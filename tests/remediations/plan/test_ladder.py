"""How often a node and a part may be repaired before a person has to look."""

from remediations.plan.actions import Past
from remediations.plan.catalog import COUNTED
from remediations.plan.ladder import DAY_S, MOST, MOST_REBOOTS, objection

NOW = 10_000_000.0


def past(remedy: str, days_ago: float, serial: str | None = None) -> Past:
    return Past(key=f"{remedy}{days_ago}", remedy=remedy, serial=serial, at=NOW - days_ago * DAY_S)


def said(remedy: str, *history: Past, serial: str | None = None) -> str | None:
    return objection(remedy, serial, history, NOW, COUNTED)


def test_the_sixth_remedy_of_a_week_is_for_a_person() -> None:
    """Five of any kind are the most; what is older than seven days does not count."""
    five = [past("slurm.drain", day) for day in range(MOST)]
    old = [past("gpu.reset", 7.1) for _ in range(9)]

    assert ("this node had 5 remedies in 7 days, and 5 are the most", None) == (
        said("gpu.reset", *five),
        said("gpu.reset", *five[1:], *old),
    )


def test_the_third_reboot_of_a_week_is_for_a_person() -> None:
    """A reset is still open to the node."""
    two = [past("slurm.reboot", day) for day in range(MOST_REBOOTS)]

    assert ("this node had 2 reboots in 7 days, which did not help it", None) == (
        said("slurm.reboot", *two),
        said("gpu.reset", *two),
    )


def test_a_part_is_counted_wherever_it_was() -> None:
    """Its serial number brings its past along; another part's is not held against it."""
    own = [past("gpu.reset", day, "1650000000001") for day in range(MOST)]
    others = [past("gpu.reset", day / 2, "1650000000002") for day in range(MOST - 1)]

    assert (True, None) == (
        said("gpu.reset", *own, serial="1650000000001") is not None,
        said("gpu.reset", *others, serial="1650000000001"),
    )


def test_what_takes_nothing_away_is_no_rung() -> None:
    """Neither is it counted, nor refused for what was."""
    caps = [past("gpu.power_cap", day / 9) for day in range(50)]
    five = [past("slurm.drain", day) for day in range(MOST)]

    assert (None, None) == (said("slurm.drain", *caps), said("slurm.resume", *five))


def test_what_the_clock_puts_into_the_future_counts() -> None:
    """A clock that was set back must not give a node new tries."""
    ahead = [past("slurm.drain", -day) for day in range(1, MOST + 1)]

    assert said("gpu.reset", *ahead) is not None
