"""What is set on interfaces, and how bonds stand: MTU, IPoIB's mode, each member's state."""

import re
from collections.abc import Mapping

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

CLASS = "/sys/class/net"
MEMBER = f"{CLASS}/*/bonding_slave"
PATTERNS = (
    f"{CLASS}/*/mtu",
    f"{CLASS}/*/mode",
    f"{CLASS}/*/bonding/mode",
    f"{CLASS}/*/bonding/slaves",
    f"{MEMBER}/mii_status",
    f"{MEMBER}/ad_aggregator_id",
)
NUMBER = re.compile(r"\d{1,6}")


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One member of a bond; `mii` is "up", "down" or between; `aggregator` is LACP's group."""

    name: str
    mii: str | None = None
    aggregator: int | None = None


class Bond(msgspec.Struct, frozen=True, kw_only=True):
    """One bond; `mode` as the kernel names it (`802.3ad`, `active-backup`)."""

    name: str
    mode: str = ""
    members: tuple[Member, ...] = ()


class InterfaceSettings(Observation, frozen=True, kw_only=True):
    """By interface: `mtu` in bytes, and IPoIB's mode (`datagram`, `connected`); all bonds."""

    mtu: Mapping[str, int] = {}
    ipoib: Mapping[str, str] = {}
    bonds: tuple[Bond, ...] = ()


async def collect(node: Node, wanted: Wanted) -> InterfaceSettings | Missing:
    """Read them from sysfs."""
    del wanted
    seen = await node.files(*PATTERNS, cap=4096)
    return seen if isinstance(seen, Missing) else parse(seen)


def parse(seen: Files) -> InterfaceSettings:
    """Return what the files say; what is no number is left out."""
    return InterfaceSettings(
        mtu={g[0]: n for g, text in seen.match(f"{CLASS}/*/mtu") if (n := _number(text))},
        ipoib={g[0]: text.strip()[:20] for g, text in seen.match(f"{CLASS}/*/mode")},
        bonds=tuple(_bond(seen, g[0], text) for g, text in seen.match(f"{CLASS}/*/bonding/slaves")),
    )


def _bond(seen: Files, name: str, slaves: str) -> Bond:
    return Bond(
        name=name,
        # 802.3ad 4
        mode=(seen.get(f"{CLASS}/{name}/bonding/mode") or "").partition(" ")[0],
        members=tuple(
            Member(
                name=member,
                mii=seen.get(f"{CLASS}/{member}/bonding_slave/mii_status"),
                aggregator=_number(
                    seen.get(f"{CLASS}/{member}/bonding_slave/ad_aggregator_id") or ""
                ),
            )
            for member in slaves.split()
        ),
    )


def _number(text: str) -> int | None:
    return int(text) if NUMBER.fullmatch(text.strip()) else None
