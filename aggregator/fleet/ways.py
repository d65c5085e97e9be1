"""On which devices each node was answered over InfiniBand since its boot, by its heartbeats."""

import math
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import msgspec

from aggregator.fleet.ping_servers import LONGEST_DEVICE, MOST_ASKED, MOST_DEVICES, MOST_NODES
from aggregator.wire import Way

FRESH_S = 600.0
"""A node that was not heard of for so long may have booted meanwhile."""
LARGEST = 0xFFFF


class Told(NamedTuple):
    """A node's ways in one boot: when it said so by its clock and by ours; `ago_s` is from then."""

    boot_id: str
    sent: float
    received: float
    ways: tuple[Way, ...]


class Ways:
    """What each node said; an agent that was restarted forgets, and within a boot this does not."""

    def __init__(self) -> None:
        self._told: dict[str, Told] = {}

    def heard(
        self, node: str, boot_id: str, ways: tuple[Way, ...], sent: float, received: float
    ) -> None:
        """Take a heartbeat's word."""
        last = self._told.get(node)
        if last is not None and sent < last.sent:
            return
        kept = _later(last, received) if last is not None and last.boot_id == boot_id else {}
        for way in ways:
            before = kept.get(way.device)
            if before is None or way.ago_s <= before.ago_s:
                kept[way.device] = way
        if not kept:
            self._told.pop(node, None)
            return
        if len(self._told) >= MOST_NODES:
            self._told.clear()
        self._told[node] = Told(boot_id, sent, received, tuple(kept.values())[:MOST_DEVICES])

    def of(self, nodes: Iterable[str], now: float) -> dict[str, tuple[Way, ...]]:
        """Return the ways of those nodes that were heard of lately, each with its age now."""
        known = ((node, self._told.get(node)) for node in islice(nodes, MOST_ASKED))
        return {
            node: tuple(_later(told, now).values())
            for node, told in known
            if told is not None and now - told.received <= FRESH_S
        }


def _later(told: Told, now: float) -> dict[str, Way]:
    since = max(0.0, now - told.received)
    return {
        way.device: msgspec.structs.replace(way, ago_s=round(way.ago_s + since, 1))
        for way in told.ways
    }


def usable(ways: Iterable[Way]) -> tuple[Way, ...]:
    """Return of what a heartbeat says what can be so."""
    return tuple(islice((way for way in ways if _sane(way)), MOST_DEVICES))


def _sane(way: Way) -> bool:
    numbers = (way.pkey, way.lid)
    return (
        len(way.device) <= LONGEST_DEVICE
        and math.isfinite(way.ago_s)
        and way.ago_s >= 0
        and all(number is None or 0 <= number <= LARGEST for number in numbers)
    )
