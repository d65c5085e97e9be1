"""Where ping servers run: what is taken from snapshots, for how long, and how much of it."""

from aggregator.fleet.ping_servers import FRESH_S, MOST_ASKED, MOST_DEVICES, PingServers, named

SERVES = {"mlx5_0.ibping_server": 1.0, "mlx5_0.1.rate_gbps": 400.0}


def test_the_devices_that_serve_are_told() -> None:
    """Of those asked for, who said so is told with its devices; of others nothing is known."""
    servers = PingServers()
    servers.heard("gpu-018", {**SERVES, "mlx5_1.ibping_server": 1.0}, 10.0, 11.0)
    servers.heard("gpu-019", {"mlx5_0.1.rate_gbps": 400.0}, 10.0, 11.0)

    told = servers.of(["gpu-018", "gpu-019", "gpu-020"], 12.0)

    assert {"gpu-018": ("mlx5_0", "mlx5_1")} == told


def test_who_served_and_does_no_more_is_told() -> None:
    """A server that ended is told as none; who never had one of ours may have another's."""
    servers = PingServers()
    servers.heard("gpu-018", SERVES, 10.0, 11.0)
    servers.heard("gpu-018", {}, 310.0, 311.0)

    assert {"gpu-018": ()} == servers.of(["gpu-018"], 312.0)


def test_an_old_word_is_none() -> None:
    """What a node said over ten minutes ago tells nothing of now."""
    servers = PingServers()
    servers.heard("gpu-018", SERVES, 10.0, 11.0)
    told = [servers.of(["gpu-018"], 11.0 + FRESH_S + late) for late in (0.0, 0.5)]

    assert [{"gpu-018": ("mlx5_0",)}, {}] == told


def test_a_late_snapshot_changes_nothing() -> None:
    """What was said before the newest word and comes after it is not taken."""
    servers = PingServers()
    servers.heard("gpu-018", SERVES, 310.0, 311.0)
    servers.heard("gpu-018", {}, 10.0, 320.0)

    assert {"gpu-018": ("mlx5_0",)} == servers.of(["gpu-018"], 321.0)


def test_what_is_too_much_is_left_out() -> None:
    """A question has 64 peers, an answer 16 devices each, and neither a name of any length."""
    servers = PingServers()
    devices = {f"mlx5_{n}.ibping_server": 1.0 for n in range(40)}
    servers.heard("gpu-018", {"x" * 65 + ".ibping_server": 1.0, **devices}, 10.0, 11.0)
    peers = named(["n" * 254, "gpu-018", *(f"gpu-{n}" for n in range(100, 200))])

    told = servers.of(peers, 12.0)

    assert (MOST_ASKED, "gpu-018") == (len(peers), peers[0])
    assert MOST_DEVICES == len(told["gpu-018"])
