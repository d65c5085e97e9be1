"""Which interfaces NCCL takes for its bootstrap and for sockets (nccl, src/misc/socket.cc)."""

from collections.abc import Mapping, Sequence

import msgspec

from collectors.network.interfaces import Interface
from diagnostics.nccl.lists import parse

NAMED, FAMILY, HINT = "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_COMM_ID"
# Without a name: IPoIB first, then whatever else, and what leads to no other node last.
DEFAULTS = ("ib", "^docker,lo,virbr", "docker", "lo", "virbr")
FAMILIES = {"AF_INET": False, "AF_INET6": True}
LOOPBACK = "::1"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What NCCL takes, the first for its bootstrap; `by` is the list that it was found with.

    `hinted` is true where NCCL_COMM_ID decides, whose address is not looked into.
    """

    interfaces: tuple[Interface, ...] = ()
    by: str = ""
    hinted: bool = False


def choose(interfaces: Sequence[Interface], settings: Mapping[str, str]) -> Choice:
    """Return the choice among interfaces that stand in the order of the kernel's index."""
    able = [one for one in interfaces if one.up and one.running and _address(one, settings)]
    named = settings.get(NAMED, "")
    # A value of one letter counts as none.
    if len(named) > 1:
        return Choice(interfaces=_taken(able, named), by=named)
    hinted = len(settings.get(HINT, "")) > 1
    for rule in DEFAULTS:
        if found := _taken(able, rule):
            return Choice(interfaces=found, by=rule, hinted=hinted and rule != DEFAULTS[0])
    return Choice(hinted=hinted)


def _taken(able: Sequence[Interface], value: str) -> tuple[Interface, ...]:
    selection = parse(value)
    return tuple(one for one in able if selection.takes(one.name))


def _address(one: Interface, settings: Mapping[str, str]) -> bool:
    """Return whether it has an address of the wanted family; the IPv6 loopback is never taken."""
    wanted = FAMILIES.get(settings.get(FAMILY, ""))
    six = [":" in address for address in one.addresses if address != LOOPBACK]
    return bool(six) and (wanted is None or wanted in six)
