"""Error and congestion counters of InfiniBand and RoCE ports, as rates."""

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.ports import CLASS
from collectors.network.rising import Rises, Rising
from collectors.node.protocol import Node

# Of the port itself (IBTA PortCounters, whatever its link layer). Data is in units of 4 bytes.
OF_LINK = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_xmit_discards",
    "port_xmit_wait",
    "port_xmit_constraint_errors",
    "port_rcv_constraint_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
    "port_xmit_data",
    "port_rcv_data",
)
# Of the card's transport (mlx5).
OF_TRANSPORT = (
    "out_of_sequence",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "roce_slow_restart",
    "roce_adp_retrans",
    "rx_icrc_encapsulated",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "rp_cnp_handled",
    "rp_cnp_ignored",
)
PORT = f"{CLASS}/*/ports/*"
FOLDERS = dict.fromkeys(OF_LINK, "counters") | dict.fromkeys(OF_TRANSPORT, "hw_counters")
PATTERNS = tuple(f"{PORT}/{folder}/{name}" for name, folder in FOLDERS.items())
DIGITS = 20
# A node without such ports is looked at once in so long, a little less than a walk.
NONE_S = 25.0


class PortCounters(Observation, frozen=True, kw_only=True):
    """What rose of each port's counters, by its name (`mlx5_0/1`).

    `reading_s` is the distance of the last two readings, `watched_s` that of the first and the
    last. `seen` counts the ports that have counters.
    """

    ports: tuple[Rises, ...] = ()
    seen: int = 0
    reading_s: float = 0.0
    watched_s: float = 0.0


class Counting:
    """Counters read again and again: each reading is compared with the one before."""

    def __init__(self) -> None:
        self._rising = Rising()
        self._none_at: float | None = None

    async def collect(self, node: Node, wanted: Wanted) -> PortCounters | Missing:
        """Read once more; the first time twice, so that there is something to compare with."""
        if self._none_at is not None and node.monotonic() - self._none_at < NONE_S:
            return PortCounters()
        if not self._rising.begun:
            first = await self._read(node)
            if isinstance(first, Missing) or not first:
                return first if isinstance(first, Missing) else PortCounters()
            await node.sleep(wanted.sample_s)
        count = await self._read(node)
        if isinstance(count, Missing):
            return count
        return PortCounters(
            ports=tuple(self._rising.rises()),
            seen=count,
            reading_s=self._rising.reading_s,
            watched_s=self._rising.watched_s,
        )

    async def _read(self, node: Node) -> int | Missing:
        seen = await node.files(*PATTERNS, cap=64)
        if isinstance(seen, Missing):
            return seen
        values = parse(seen)
        self._none_at = None if values else node.monotonic()
        self._rising.take(values, node.monotonic())
        return len(values)


async def collect(node: Node, wanted: Wanted) -> PortCounters | Missing:
    """Read all counters twice, *sample_s* apart."""
    return await Counting().collect(node, wanted)


def parse(seen: Files) -> dict[str, dict[str, int]]:
    """Return the counters by port; what is no number is left out."""
    found: dict[str, dict[str, int]] = {}
    for path, text in seen.texts.items():
        device, _, port, _, counter = path.removeprefix(f"{CLASS}/").split("/")
        number = text.strip()
        if number.isdecimal() and number.isascii() and len(number) <= DIGITS:
            found.setdefault(f"{device}/{port}", {})[counter] = int(number)
    return found
