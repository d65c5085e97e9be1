"""Network interfaces of the host: state, speed, MTU and addresses."""

from typing import Any

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import NO_ROLES, Role, Roles, Wanted
from collectors.node.protocol import Node

CLASS = "/sys/class/net"
SLAVES = f"{CLASS}/*/bonding/slaves"
TYPE = f"{CLASS}/*/type"
# ARPHRD_INFINIBAND of linux/if_arp.h
INFINIBAND = "32"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One interface as the kernel's flags and the driver tell it; speed in Mb/s where known."""

    up: bool
    running: bool
    mtu: int
    speed_mbps: int | None = None
    addresses: tuple[str, ...] = ()


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """One interface; `up` is what the administrator set, `running` whether it has a carrier.

    `physical` has a device behind it, `bond` is the bond that it is a member of.
    `role` stands where the settings give it one.
    """

    name: str
    up: bool
    running: bool
    mtu: int
    speed_mbps: int | None = None
    addresses: tuple[str, ...] = ()
    physical: bool = False
    infiniband: bool = False
    bond: str | None = None
    role: Role | None = None


class Interfaces(Observation, frozen=True, kw_only=True):
    """All interfaces by name."""

    interfaces: tuple[Interface, ...]


async def collect(node: Node, wanted: Wanted) -> Interfaces | Missing:
    """Ask for flags and addresses, and read which interfaces are real and which are bonded."""
    answer = await node.ask("interfaces")
    if isinstance(answer, Missing):
        return answer
    seen = await node.files(TYPE, SLAVES, names=(f"{CLASS}/*/device",), cap=4096)
    return seen if isinstance(seen, Missing) else parse(answer, seen, wanted.roles)


def parse(
    answer: Any,  # noqa: ANN401 - JSON of a helper
    seen: Files,
    roles: Roles = NO_ROLES,
) -> Interfaces | Missing:
    """Join the helper's answer with sysfs."""
    try:
        links = msgspec.convert(answer, dict[str, Link])
    except msgspec.ValidationError as problem:
        return Missing(what="Interfaces", cause=Cause.GARBLED, detail=str(problem)[:200])
    physical = set(seen.names(f"{CLASS}/*/device"))
    types = {groups[0]: text.strip() for groups, text in seen.match(TYPE)}
    bonds = {member: groups[0] for groups, text in seen.match(SLAVES) for member in text.split()}
    return Interfaces(
        interfaces=tuple(
            Interface(
                name=name,
                up=link.up,
                running=link.running,
                mtu=link.mtu,
                speed_mbps=link.speed_mbps,
                addresses=link.addresses,
                physical=name in physical,
                infiniband=types.get(name) == INFINIBAND,
                bond=bonds.get(name),
                role=roles.of(name),
            )
            for name, link in sorted(links.items())
        )
    )
