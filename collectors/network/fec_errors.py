"""Blocks that error correction could not mend, by `ethtool -I --show-fec`: the ten minutes' tier.

It is the bit error rate behind the correction without `mlxlink`: drivers tell it since Linux 5.13
(mlx5 since 5.16), and ethtool since 5.13. What an older one says is no statistics.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from collectors.facts.answers import Output
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.fec import DEADLINE_S, MOST_PORTS, is_fast
from collectors.network.interfaces import Interface, Interfaces
from collectors.network.rising import Rises, Rising
from collectors.network.tiers import Tier
from collectors.node.protocol import Node

# [{"ifname":"rail0","config":["Auto"],"active":["RS"],
#   "statistics":{"corrected_blocks":{"total":80211},"uncorrectable_blocks":{"total":3}}}]
WANTED = ("corrected_blocks", "uncorrectable_blocks")
LARGEST = 1 << 64


class FecErrors(Observation, frozen=True, kw_only=True):
    """What rose of each fast Ethernet port's blocks, with its speed; ports that tell none are left.

    `reading_s` is the distance of the last two readings.
    """

    ports: tuple[Rises, ...] = ()
    speeds_mbps: Mapping[str, int] = {}
    seen: int = 0
    reading_s: float = 0.0
    watched_s: float = 0.0


class Sampling:
    """Blocks read again and again, until the card or the kernel says that we may not."""

    def __init__(self) -> None:
        self._rising = Rising()
        self._tier = Tier("ethtool -I --show-fec")

    async def collect(
        self, node: Node, wanted: Wanted, interfaces: Interfaces | Missing, log: KernelLog | Missing
    ) -> FecErrors | Missing:
        """Ask each fast port once more; the first time twice."""
        if isinstance(interfaces, Missing):
            return interfaces
        fast = [one for one in interfaces.interfaces if is_fast(one)][:MOST_PORTS]
        if not fast:
            return FecErrors()
        if (stopped := await self._tier.stopped(node, log)) is not None:
            return stopped
        if not self._rising.begun:
            first = await self._read(node, fast)
            if isinstance(first, Missing):
                return first
            if first:
                await node.sleep(wanted.sample_s)
        seen = await self._read(node, fast)
        if isinstance(seen, Missing):
            return seen
        return FecErrors(
            ports=tuple(self._rising.rises()) if seen else (),
            speeds_mbps={one.name: one.speed_mbps or 0 for one in fast},
            seen=seen,
            reading_s=self._rising.reading_s,
            watched_s=self._rising.watched_s,
        )

    async def _read(self, node: Node, fast: list[Interface]) -> int | Missing:
        """Return how many ports told, or why the first that refused did."""
        values: dict[str, dict[str, int]] = {}
        at = node.monotonic()
        for one in fast:
            words = ("--json", "-I", "--show-fec", one.name)
            got = await node.command("ethtool", *words, deadline_s=DEADLINE_S)
            if (refused := await self._tier.denied(node, got)) is not None:
                return refused
            assert isinstance(got, Output)
            if told := parse(got.stdout):
                values[one.name] = told
        if values:
            self._rising.take(values, at)
        return len(values)


async def collect(
    node: Node, wanted: Wanted, interfaces: Interfaces | Missing, log: KernelLog | Missing
) -> FecErrors | Missing:
    """Ask each fast port twice, *sample_s* apart."""
    return await Sampling().collect(node, wanted, interfaces, log)


def parse(text: str) -> dict[str, int]:
    """Return the blocks of one port; none where its driver or an older ethtool tells none."""
    try:
        told = msgspec.json.decode(text, type=list[dict[str, Any]])
    except (ValueError, RecursionError):
        return {}
    table = told[0].get("statistics") if told else None
    rows = table if isinstance(table, dict) else {}
    found = {name: _total(rows.get(name)) for name in WANTED}
    return {name: value for name, value in found.items() if value is not None}


def _total(row: object) -> int | None:
    total = row.get("total") if isinstance(row, dict) else None
    return total if isinstance(total, int) and 0 <= total < LARGEST else None
