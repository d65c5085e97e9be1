"""How often a node or a part is tried, as a pure decision."""

import pytest

from aggregator.fleet.ladder import WINDOW_S, Granted, objection

NOW = 10 * WINDOW_S


def granted(count: int, remedy: str = "gpu.reset", **other: object) -> list[Granted]:
    given = {"node": "a", "at": NOW - 60.0, "serial": "165001"} | other
    return [Granted(remedy=remedy, **given) for _ in range(count)]  # type: ignore[arg-type] # fields by name


@pytest.mark.parametrize(
    ("past", "remedy", "reason"),
    [
        (granted(4), "gpu.reset", None),
        (granted(5), "gpu.reset", "5 remedies in 7 days for node a: a person has to look"),
        (granted(5, at=NOW - WINDOW_S), "gpu.reset", None),
        (
            granted(5, node="b"),
            "slurm.drain",
            "5 remedies in 7 days for serial 165001: a person has to look",
        ),
        (granted(5, node="b", serial=None), "slurm.drain", None),
        (granted(1, "slurm.reboot"), "slurm.reboot", None),
        (
            granted(2, "slurm.reboot"),
            "slurm.reboot",
            "2 reboots in 7 days for node a: a person has to look",
        ),
        (granted(2, "slurm.reboot"), "gpu.reset", None),
    ],
)
def test_then_a_person(past: list[Granted], remedy: str, reason: str | None) -> None:
    """Five remedies or two reboots in seven days, of a node or a part, and no more."""
    assert reason == objection("a", remedy, "165001", past, NOW)
