"""Statistics of Ethernet cards by `ethtool -S`, as rates: pauses, discards, errors of the wire."""

import re

from collectors.facts.answers import Output
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.rising import Rises, Rising
from collectors.network.tiers import Tier
from collectors.node.protocol import Node

CLASS = "/sys/class/net"
DEADLINE_S = 4.0
MOST_CARDS = 64
ETHERNET = "1"

# Each behind five spaces: rx_prio3_pause_duration: 190211, rx_crc_errors_phy: 0
LINE = re.compile(r"^ {2,8}([a-z][a-z0-9_]{1,60}): (\d{1,20})$", re.MULTILINE)
# Of some thousand that a card has, those that say what is wrong with its link or its fabric.
WANTED = re.compile(
    r"[rt]x_prio[0-7]_(?:pause|pause_duration|pause_transition)"
    r"|rx_prio[0-7]_(?:discards|buf_discard|cong_discard)"
    r"|rx_(?:discards|crc_errors|symbol_err|pcs_symbol_err|corrected_bits|err_lane_[0-7])_phy"
    r"|rx_(?:crc_errors|missed_errors|out_of_buffer)"
    r"|tx_pause_storm_(?:warning|error)_events|link_down_events_phy"
    r"|[rt]x_pci_signal_integrity|outbound_pci_buffer_overflow"
    r"|module_(?:high_temp|unplug|bad_shorted|bus_stuck)"
)


class EthernetStatistics(Observation, frozen=True, kw_only=True):
    """What rose of each Ethernet card's statistics, by its interface's name.

    `silent` are cards that gave none. `reading_s` is the distance of the last two readings.
    """

    cards: tuple[Rises, ...] = ()
    seen: int = 0
    silent: tuple[Missing, ...] = ()
    reading_s: float = 0.0
    watched_s: float = 0.0


class Sampling:
    """Statistics read again and again, until the card or the kernel says that we may not."""

    def __init__(self) -> None:
        self._rising = Rising()
        self._tier = Tier("ethtool -S")

    async def collect(
        self, node: Node, wanted: Wanted, log: KernelLog | Missing
    ) -> EthernetStatistics | Missing:
        """Ask every card once more; the first time twice."""
        if (stopped := await self._tier.stopped(node, log)) is not None:
            return stopped
        names = await cards(node)
        if isinstance(names, Missing):
            return names
        if not names:
            return EthernetStatistics()
        if not self._rising.begun:
            await self._read(node, names)
            await node.sleep(wanted.sample_s)
        seen, silent = await self._read(node, names)
        if not seen and silent:
            return silent[0]
        return EthernetStatistics(
            cards=tuple(self._rising.rises()),
            seen=seen,
            silent=silent,
            reading_s=self._rising.reading_s,
            watched_s=self._rising.watched_s,
        )

    async def _read(self, node: Node, names: list[str]) -> tuple[int, tuple[Missing, ...]]:
        """Return how many cards answered, and why the others did not."""
        values: dict[str, dict[str, int]] = {}
        silent = []
        at = node.monotonic()
        for name in names[:MOST_CARDS]:
            got = await node.command("ethtool", "-S", name, deadline_s=DEADLINE_S)
            if (refused := await self._tier.denied(node, got)) is not None:
                silent.append(refused)
                # What one card refuses, or a tool that is not there, is the same for the next.
                break
            assert isinstance(got, Output)
            values[name] = parse(got.stdout)
        if values:
            self._rising.take(values, at)
        return len(values), tuple(silent)


async def collect(
    node: Node, wanted: Wanted, log: KernelLog | Missing
) -> EthernetStatistics | Missing:
    """Ask every card twice, *sample_s* apart."""
    return await Sampling().collect(node, wanted, log)


async def cards(node: Node) -> list[str] | Missing:
    """Return the interfaces of Ethernet cards that have a carrier."""
    seen = await node.files(
        f"{CLASS}/*/type", f"{CLASS}/*/carrier", names=(f"{CLASS}/*/device",), cap=64
    )
    if isinstance(seen, Missing):
        return seen
    physical = seen.names(f"{CLASS}/*/device")
    return [
        name
        for name in physical
        if seen.get(f"{CLASS}/{name}/type") == ETHERNET
        and seen.get(f"{CLASS}/{name}/carrier") == "1"
    ]


def parse(text: str) -> dict[str, int]:
    """Return the wanted statistics of one card."""
    pairs = ((hit[1], int(hit[2])) for hit in LINE.finditer(text))
    return {name: value for name, value in pairs if WANTED.fullmatch(name)}
