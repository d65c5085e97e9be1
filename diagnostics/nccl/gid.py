"""Which address of a RoCE port NCCL takes (nccl, ncclIbGetGidIndex of its IB transport)."""

import ipaddress
from collections.abc import Mapping, Sequence

from collectors.network.gids import Gid
from diagnostics.nccl.transport import number

INDEX, FAMILY, RANGE = "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE"
VERSION = "NCCL_IB_ROCE_VERSION_NUM"
WANTED_VERSION = 2
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def fixed(settings: Mapping[str, str]) -> int | None:
    """Return the index that a person fixed, None where NCCL chooses by itself (2.21 and newer)."""
    value = number(settings.get(INDEX))
    return value if value is not None and value >= 0 else None


def automatic(gids: Sequence[Gid], settings: Mapping[str, str]) -> int:
    """Return the index that NCCL chooses; 0 where nothing fits, whatever stands there."""
    four = settings.get(FAMILY, "") != "AF_INET6"
    within = _network(settings.get(RANGE, ""), four=four)
    version = number(settings.get(VERSION)) or WANTED_VERSION
    known = {gid.index: gid for gid in gids}
    best = known.get(0) or Gid(index=0)
    for gid in sorted(gids, key=lambda one: one.index):
        if gid.index and _better(gid, best, four, within, version):
            best = gid
    return best.index


def _better(gid: Gid, best: Gid, four: bool, within: Network | None, version: int) -> bool:  # noqa: FBT001 - as its caller has them
    if gid.four != four or not _inside(gid, within):
        return False
    if best.four != gid.four:
        return True
    other = gid.version != best.version or not best.routable
    return gid.routable and other and gid.version == version


def _network(text: str, *, four: bool) -> Network | None:
    try:
        found = ipaddress.ip_network(text, strict=False) if text else None
    except ValueError:
        return None
    return found if found is None or (found.version == 4) == four else None  # noqa: PLR2004 - IPv4


def _inside(gid: Gid, within: Network | None) -> bool:
    if within is None:
        return True
    address = ipaddress.IPv6Address(gid.address)
    return (address.ipv4_mapped or address) in within
