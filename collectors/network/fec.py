"""Forward error correction of fast Ethernet ports, by `ethtool --show-fec`: every ten minutes."""

import re

import msgspec

from collectors.facts.answers import Output
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.interfaces import Interface, Interfaces
from collectors.network.tiers import Tier
from collectors.node.protocol import Node

DEADLINE_S = 4.0
MOST_PORTS = 64
# Below it a link may go without by the standards of many cables.
FAST_MBPS = 100_000

# The text is the same by ioctl and by netlink; JSON came with ethtool 5.13.
# Configured FEC encodings: Auto      Supported/Configured FEC encodings: Auto Off RS
# Active FEC encoding: RS             Active FEC encodings: RS LLRS
CONFIGURED = re.compile(
    r"^(?:Supported/)?Configured FEC encodings?:[ \t]*(\S.{0,60})$", re.MULTILINE
)
ACTIVE = re.compile(r"^Active FEC encodings?:[ \t]*(\S.{0,60})$", re.MULTILINE)
# Drivers that do not tell which is in use say so.
UNTOLD = ("None", "Unknown", "UNKNOWN")


class PortFec(msgspec.Struct, frozen=True, kw_only=True):
    """One port; `active` is ("RS",), ("BaseR",), ("Off",), or empty where its driver tells none."""

    name: str
    speed_mbps: int
    configured: tuple[str, ...] = ()
    active: tuple[str, ...] = ()

    @property
    def off(self) -> bool:
        """Return whether errors of the wire are not corrected."""
        return self.active == ("Off",)


class Fec(Observation, frozen=True, kw_only=True):
    """The Ethernet ports of 100 Gb/s and more that have a link; `silent` are those unread."""

    ports: tuple[PortFec, ...] = ()
    silent: tuple[Missing, ...] = ()


class Looking:
    """Ports looked at again and again, until the kernel or a card says that we may not."""

    def __init__(self) -> None:
        self._tier = Tier("ethtool --show-fec")

    async def collect(
        self, node: Node, wanted: Wanted, interfaces: Interfaces | Missing, log: KernelLog | Missing
    ) -> Fec | Missing:
        """Ask each fast port; a refusal ends it for this boot."""
        del wanted
        if isinstance(interfaces, Missing):
            return interfaces
        if not (fast := [one for one in interfaces.interfaces if is_fast(one)]):
            return Fec()
        if (stopped := await self._tier.stopped(node, log)) is not None:
            return stopped
        ports, silent = [], []
        for one in fast[:MOST_PORTS]:
            got = await node.command("ethtool", "--show-fec", one.name, deadline_s=DEADLINE_S)
            if (refused := await self._tier.denied(node, got)) is not None:
                silent.append(refused)
                break
            assert isinstance(got, Output)
            ports.append(parse(one.name, one.speed_mbps or 0, got.stdout))
        if silent and not ports:
            return silent[0]
        return Fec(ports=tuple(ports), silent=tuple(silent))


async def collect(
    node: Node, wanted: Wanted, interfaces: Interfaces | Missing, log: KernelLog | Missing
) -> Fec | Missing:
    """Ask each fast port once."""
    return await Looking().collect(node, wanted, interfaces, log)


def is_fast(one: Interface) -> bool:
    """Return whether it is an Ethernet card's port with a link of 100 Gb/s or more."""
    ethernet = one.physical and not one.infiniband
    return ethernet and one.running and (one.speed_mbps or 0) >= FAST_MBPS


def parse(name: str, speed_mbps: int, text: str) -> PortFec:
    """Return what `ethtool --show-fec` said of one port."""
    configured, active = (tuple(hit[1].split()) if hit else () for hit in _hits(text))
    told = tuple(one for one in active if one not in UNTOLD)
    return PortFec(name=name, speed_mbps=speed_mbps, configured=configured, active=told)


def _hits(text: str) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    return CONFIGURED.search(text), ACTIVE.search(text)
