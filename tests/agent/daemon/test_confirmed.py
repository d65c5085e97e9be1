"""The peers' own word of their ping servers: which rail, and for how long it counts."""

import pytest

from agent.daemon.confirmed import FRESH_S, Confirmed
from aggregator.wire import Way


@pytest.mark.parametrize(
    ("devices", "rail", "expected"),
    [
        (("mlx5_0", "mlx5_1"), "mlx5_1", True),
        (("mlx5_0", "mlx5_1"), "mlx5_2", False),
        (("mlx5_0",), "", True),
        ((), "", False),
        ((), "mlx5_0", False),
    ],
)
def test_a_word_is_of_devices(devices: tuple[str, ...], rail: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """A named rail needs its own server; where none is named any server answers."""
    confirmed = Confirmed(lambda: 0.0)
    confirmed.told({"gpu-018": devices})

    assert expected is confirmed.serves("gpu-018", rail)


def test_an_old_word_is_forgotten() -> None:
    """Ten minutes without an answer, and it is not known again whether the server runs."""
    now = [100.0]
    confirmed = Confirmed(lambda: now[0])
    confirmed.told({"gpu-018": ("mlx5_0",)})
    seen = [confirmed.serves("gpu-018", "mlx5_0"), confirmed.serves("gpu-019", "mlx5_0")]
    now[0] += FRESH_S + 1.0
    seen.append(confirmed.serves("gpu-018", "mlx5_0"))

    assert [True, None, None] == seen


def test_an_answer_that_tells_of_others_leaves_a_word() -> None:
    """The receipt of a batch without a heartbeat names nobody, and takes no word back."""
    confirmed = Confirmed(lambda: 0.0)
    confirmed.told({"gpu-018": ("mlx5_0",)})
    confirmed.told({})

    assert confirmed.serves("gpu-018", "mlx5_0")


def test_a_peers_way_grows_older() -> None:
    """When others last answered a peer is told with the time since, and forgotten after a while."""
    now = [100.0]
    confirmed = Confirmed(lambda: now[0])
    confirmed.told({}, {"gpu-018": (Way("mlx5_0", 20.0, 0xFFFF, 12),)})
    now[0] += 30.0
    seen = [confirmed.worked("gpu-018", rail) for rail in ("mlx5_0", "mlx5_1")]
    now[0] += FRESH_S
    seen.append(confirmed.worked("gpu-018", "mlx5_0"))

    assert [Way("mlx5_0", 50.0, 0xFFFF, 12), None, None] == seen
