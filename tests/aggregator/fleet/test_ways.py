"""On which devices nodes were answered since boot: what is taken, kept, and for how long."""

from math import inf, nan

from aggregator.fleet.ping_servers import MOST_DEVICES
from aggregator.fleet.ways import FRESH_S, Ways, usable
from aggregator.wire import Way


def test_ways_are_told_with_their_age() -> None:
    """What a heartbeat said grows older with the time since it came."""
    ways = Ways()
    ways.heard("gpu-018", "b-1", (Way("mlx5_0", 20.0, 0xFFFF, 12),), 10.0, 11.0)

    told = ways.of(["gpu-018", "gpu-019"], 16.0)

    assert {"gpu-018": (Way("mlx5_0", 25.0, 0xFFFF, 12),)} == told


def test_an_agent_that_was_restarted_forgets_and_its_boot_does_not() -> None:
    """Within one boot a device that worked stays one that did; after another boot it is unknown."""
    ways = Ways()
    ways.heard("gpu-018", "b-1", (Way("mlx5_0", 20.0), Way("mlx5_1", 30.0)), 10.0, 11.0)
    ways.heard("gpu-018", "b-1", (Way("mlx5_1", 1.0),), 40.0, 41.0)
    same = ways.of(["gpu-018"], 41.0)
    ways.heard("gpu-018", "b-2", (), 90.0, 91.0)

    assert ({"gpu-018": (Way("mlx5_0", 50.0), Way("mlx5_1", 1.0))}, {}) == (
        same,
        ways.of(["gpu-018"], 91.0),
    )


def test_a_node_that_is_silent_may_have_booted() -> None:
    """Ten minutes without a heartbeat, and it is not told of any more."""
    ways = Ways()
    ways.heard("gpu-018", "b-1", (Way("mlx5_0", 0.0),), 10.0, 11.0)
    told = [bool(ways.of(["gpu-018"], 11.0 + FRESH_S + late)) for late in (0.0, 0.5)]

    assert [True, False] == told


def test_a_late_heartbeat_changes_nothing() -> None:
    """What was said before the newest word and comes after it is not taken."""
    ways = Ways()
    ways.heard("gpu-018", "b-2", (Way("mlx5_0", 1.0),), 310.0, 311.0)
    ways.heard("gpu-018", "b-1", (), 10.0, 320.0)

    assert {"gpu-018": (Way("mlx5_0", 10.0),)} == ways.of(["gpu-018"], 320.0)


def test_what_cannot_be_is_left_out() -> None:
    """Endless ages, numbers over 16 bits, long names, and more devices than a node has."""
    odd = [Way("d", nan), Way("d", inf), Way("d", -1.0), Way("d", 0.0, 65536), Way("d" * 65, 0.0)]
    many = [Way(f"mlx5_{n}", 0.0) for n in range(40)]

    assert ((), MOST_DEVICES) == (usable(odd), len(usable([*odd, *many])))
