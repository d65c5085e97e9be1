"""Where servers for InfiniBand pings run, by the last snapshot of each node; since the start."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

FRESH_S = 600.0
"""Two snapshots' time; what is older says nothing of now."""
MOST_ASKED, MOST_DEVICES, MOST_NODES = 64, 16, 200_000
LONGEST_NODE, LONGEST_DEVICE = 253, 64
SUFFIX = ".ibping_server"


class Told(NamedTuple):
    """What a snapshot told: when by its node's clock and by ours, and the devices that serve."""

    sent: float
    received: float
    devices: tuple[str, ...]


class PingServers:
    """Who serves; a node that never said that it does is not known, as others may start it."""

    def __init__(self) -> None:
        self._told: dict[str, Told] = {}

    def heard(self, node: str, gauges: Mapping[str, float], sent: float, received: float) -> None:
        """Take a snapshot's gauges."""
        devices, last = serving(gauges), self._told.get(node)
        if last is None and not devices:
            return
        if last is None or sent >= last.sent:
            if len(self._told) >= MOST_NODES:
                self._told.clear()
            self._told[node] = Told(sent, received, devices)

    def of(self, nodes: Iterable[str], now: float) -> dict[str, tuple[str, ...]]:
        """Return the devices that serve, by node, of those of whom a fresh word is known.

        Of a node that did serve and does no more there are none.
        """
        known = ((node, self._told.get(node)) for node in islice(nodes, MOST_ASKED))
        return {
            node: told.devices
            for node, told in known
            if told is not None and now - told.received <= FRESH_S
        }


def serving(gauges: Mapping[str, float]) -> tuple[str, ...]:
    """Return the devices that gauges like `mlx5_0.ibping_server` tell of."""
    named = (
        name.removesuffix(SUFFIX)
        for name, value in gauges.items()
        if name.endswith(SUFFIX) and value == 1.0
    )
    return tuple(sorted(islice((d for d in named if len(d) <= LONGEST_DEVICE), MOST_DEVICES)))


def named(nodes: Iterable[str]) -> tuple[str, ...]:
    """Return of those that a heartbeat asks for as many as are answered."""
    return tuple(islice((node for node in nodes if len(node) <= LONGEST_NODE), MOST_ASKED))
