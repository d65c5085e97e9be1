"""Where IPv4 packets leave, and the kernel's order of interfaces.

/proc/net/route has the main table alone. Whether a rule sends packets to another one, no file
tells: `ip -j rule` does.
"""

import ipaddress
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

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
# [{"priority":0,"src":"all","table":"local"},
#  {"priority":32765,"src":"all","dst":"198.51.100.0","dstlen":24,"table":"101"}, ...]
RULES = ("-4", "-j", "rule", "show")
EVERYWHERE = "0.0.0.0/0"
OWN_TABLES = ("local", "main", "default")
# A rule with one of these is for marked packets, some interface's or some program's.
NARROW = ("fwmark", "iif", "oif", "uid_start", "ipproto", "sport", "dport", "tos")
DEADLINE_S = 2.0
UP, REJECT = 0x1, 0x200
NUMBER = re.compile(r"\d{1,9}")


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One way: packets to `network` (`192.0.2.0/24`) leave over `interface`."""

    interface: str
    network: str
    metric: int = 0


class Routes(Observation, frozen=True, kw_only=True):
    """The IPv4 routes of the main table, and each interface's index.

    `ruled` are the networks to which another table may know a way: rules for everybody's packets.
    """

    routes: tuple[Route, ...] = ()
    index: Mapping[str, int] = {}
    ruled: tuple[str, ...] = ()

    def to(self, address: str) -> str | None:
        """Return over which interface packets to an IPv4 address leave, None where none is known.

        They have no source yet, as a connection that is begun has none.
        """
        try:
            target = ipaddress.IPv4Address(address)
        except ValueError:
            return None
        if any(target in ipaddress.IPv4Network(network) for network in self.ruled):
            return None
        fits = [r for r in self.routes if target in ipaddress.IPv4Network(r.network)]
        best = min(fits, key=lambda r: (-_length(r), r.metric), default=None)
        return best.interface if best else None


async def collect(node: Node, wanted: Wanted) -> Routes | Missing:
    """Read the table, which names up to some thousand routes, and ask for the rules."""
    del wanted
    seen = await node.files(TABLE, INDEX)
    if isinstance(seen, Missing):
        return seen
    text = seen.get(TABLE)
    if text is None:
        return Missing(what="Routes", cause=Cause.GARBLED, detail=f"{TABLE} cannot be read")
    got = await node.command("ip", *RULES, deadline_s=DEADLINE_S)
    return parse(text, seen, "" if isinstance(got, Missing) else got.stdout)


def parse(text: str, seen: Files, rules: str = "") -> Routes:
    """Return the ways that are up; what is not understood is left out."""
    found = (ROW.fullmatch(line.strip()) for line in text.splitlines()[:MOST])
    indexes = {name: said.strip() for (name,), said in seen.match(INDEX)}
    return Routes(
        routes=tuple(route for hit in found if hit and (route := _route(hit))),
        index={name: int(said) for name, said in indexes.items() if NUMBER.fullmatch(said)},
        ruled=tuple(dict.fromkeys(_ruled(rules))),
    )


def _ruled(text: str) -> Iterator[str]:
    """Yield the networks of rules that send packets of any source to a table of their own."""
    try:
        rules = msgspec.json.decode(text, type=list[dict[str, Any]])
    except (ValueError, RecursionError):
        return
    for rule in rules[:MOST]:
        table, everybody = rule.get("table"), rule.get("src") == "all"
        if not everybody or not isinstance(table, str) or table in OWN_TABLES:
            continue
        if not any(name in rule for name in NARROW) and (network := _network(rule)):
            yield network


def _network(rule: Mapping[str, Any]) -> str | None:
    """Return where a rule holds; a single address has no length, and everything no address."""
    if "dst" not in rule:
        return EVERYWHERE
    try:
        return str(ipaddress.IPv4Network(f"{rule['dst']}/{rule.get('dstlen', 32)}"))
    except ValueError:
        return None


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
