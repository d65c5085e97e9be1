"""The table of addresses (GIDs) of each RDMA port, as the kernel keeps it."""

import ipaddress
import re

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

PORTS = "/sys/class/infiniband/*/ports/*"
# The first 40 of up to 256 places: an address takes two, and those in use come first.
PLACES = ("[0-9]", "[1-3][0-9]")
MOST = 40
PATTERNS = tuple(
    f"{PORTS}/{folder}/{place}"
    for folder in ("gids", "gid_attrs/types", "gid_attrs/ndevs")
    for place in PLACES
)

# IB/RoCE v1        RoCE v2
VERSIONS = {"IB/RoCE v1": 1, "RoCE v2": 2}
# 0000:0000:0000:0000:0000:ffff:c000:0211
ADDRESS = re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4}){7}")
NETDEV = re.compile(r"[^\s/]{1,15}")


class Gid(msgspec.Struct, frozen=True, kw_only=True):
    """One address; `version` is RoCE's, None where the kernel does not tell."""

    index: int
    address: str = "::"
    version: int | None = None
    netdev: str | None = None

    @property
    def four(self) -> bool:
        """Return whether it stands for an IPv4 address."""
        return ipaddress.IPv6Address(self.address).ipv4_mapped is not None

    @property
    def routable(self) -> bool:
        """Return whether other subnets could reach it: neither empty nor link-local."""
        address = ipaddress.IPv6Address(self.address)
        return not (address.is_unspecified or address.is_link_local)


class PortGids(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of one port, `mlx5_0/1`, by index; empty places are left out."""

    port: str
    gids: tuple[Gid, ...] = ()

    def at(self, index: int) -> Gid | None:
        """Return what stands at an index."""
        return next((gid for gid in self.gids if gid.index == index), None)


class Gids(Observation, frozen=True, kw_only=True):
    """The first 40 places of each port's table."""

    ports: tuple[PortGids, ...] = ()

    def of(self, port: str) -> PortGids | None:
        """Return the table of a port."""
        return next((one for one in self.ports if one.port == port), None)


async def collect(node: Node, wanted: Wanted) -> Gids | Missing:
    """Read all tables in one question; no firmware is asked."""
    del wanted
    seen = await node.files(*PATTERNS, cap=256)
    return seen if isinstance(seen, Missing) else parse(seen)


def parse(seen: Files) -> Gids:
    """Return the tables; a place that cannot be read, or holds no address, is empty."""
    found: dict[str, list[Gid]] = {}
    for (device, port, place), text in seen.match(f"{PORTS}/gids/*"):
        gids = found.setdefault(f"{device}/{port}", [])
        if gid := _gid(seen, f"/sys/class/infiniband/{device}/ports/{port}", place, text.strip()):
            gids.append(gid)
    return Gids(ports=tuple(PortGids(port=name, gids=tuple(g)) for name, g in found.items()))


def _gid(seen: Files, base: str, place: str, text: str) -> Gid | None:
    if not ADDRESS.fullmatch(text) or not place.isascii() or not place.isdecimal():
        return None
    address = ipaddress.IPv6Address(text)
    if address.is_unspecified or text == "fe80" + ":0000" * 7:
        return None
    netdev = (seen.get(f"{base}/gid_attrs/ndevs/{place}") or "").strip()
    return Gid(
        index=int(place),
        # Python 3.13 writes it so by itself.
        address=f"::ffff:{four}" if (four := address.ipv4_mapped) else str(address),
        version=VERSIONS.get((seen.get(f"{base}/gid_attrs/types/{place}") or "").strip()),
        netdev=netdev if NETDEV.fullmatch(netdev) else None,
    )
