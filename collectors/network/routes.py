"""Where IPv4 packets leave, and the kernel's order of interfaces."""

import ipaddress
import re
import struct
from collections.abc import Mapping

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

TABLE = "/proc/net/route"
INDEX = "/sys/class/net/*/ifindex"
MOST = 4096

# Iface  Destination  Gateway   Flags  RefCnt  Use  Metric  Mask      MTU  Window  IRTT
# bond0  00000000     010200C0  0003   0       0    100     00000000  0    0       0
ROW = re.compile(
    r"(?P<name>\S{1,15})\s+(?P<to>[0-9A-F]{8})\s+[0-9A-F]{8}\s+(?P<flags>[0-9A-F]{4})\s+\d+\s+\d+"
    r"\s+(?P<metric>\d{1,10})\s+(?P<mask>[0-9A-F]{8})\b.*"
)
UP, REJECT = 0x1, 0x200
NUMBER = re.compile(r"\d{1,9}")


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One way: packets to `network` (`192.0.2.0/24`) leave over `interface`."""

    interface: str
    network: str
    metric: int = 0


class Routes(Observation, frozen=True, kw_only=True):
    """The IPv4 routes of the main table, and each interface's index."""

    routes: tuple[Route, ...] = ()
    index: Mapping[str, int] = {}

    def to(self, address: str) -> str | None:
        """Return over which interface packets to an IPv4 address leave, None where none does."""
        try:
            target = ipaddress.IPv4Address(address)
        except ValueError:
            return None
        fits = [r for r in self.routes if target in ipaddress.IPv4Network(r.network)]
        best = min(fits, key=lambda r: (-_length(r), r.metric), default=None)
        return best.interface if best else None


async def collect(node: Node, wanted: Wanted) -> Routes | Missing:
    """Read the table; it names up to some thousand routes."""
    del wanted
    seen = await node.files(TABLE, INDEX)
    if isinstance(seen, Missing):
        return seen
    text = seen.get(TABLE)
    if text is None:
        return Missing(what="Routes", cause=Cause.GARBLED, detail=f"{TABLE} cannot be read")
    return parse(text, seen)


def parse(text: str, seen: Files) -> Routes:
    """Return the ways that are up; what is not understood is left out."""
    found = (ROW.fullmatch(line.strip()) for line in text.splitlines()[:MOST])
    indexes = {name: said.strip() for (name,), said in seen.match(INDEX)}
    return Routes(
        routes=tuple(route for hit in found if hit and (route := _route(hit))),
        index={name: int(said) for name, said in indexes.items() if NUMBER.fullmatch(said)},
    )


def _route(hit: re.Match[str]) -> Route | None:
    flags = int(hit["flags"], 16)
    if not flags & UP or flags & REJECT:
        return None
    try:
        network = ipaddress.IPv4Network((_address(hit["to"]), str(_address(hit["mask"]))))
    except ValueError:
        return None
    return Route(interface=hit["name"], network=str(network), metric=int(hit["metric"]))


def _address(digits: str) -> ipaddress.IPv4Address:
    # The kernel prints the bytes of network order as a number of this machine's.
    return ipaddress.IPv4Address(struct.pack("=I", int(digits, 16)))


def _length(route: Route) -> int:
    return ipaddress.IPv4Network(route.network).prefixlen
