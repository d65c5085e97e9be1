"""Whether packets as large as the interface allows reach the peers unbroken."""

import ipaddress
import math
import re

import msgspec

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.network.peers import START_S, Probe
from collectors.network.ping import SENT, Pings
from collectors.node.protocol import Node

DEADLINE_S = 5.0
ROUTE_S = 2.0
SAID_CAP = 200
# -M do: no router, and not this host, may break the packet into pieces.
OPTIONS = ("-n", "-q", "-M", "do", "-c", "3", "-i", "0.2", "-W", "1")
# What IP and ICMP add to the bytes that ping is told to send.
HEADERS = {4: 28, 6: 48}

# ping: local error: message too long, mtu=1500
# ping: sendmsg: Message too long
TOO_LONG = re.compile(r"^.{0,40}[mM]essage too long.{0,40}$", re.MULTILINE)
# From 192.0.2.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)
NEEDED = re.compile(r"^.{0,80}Frag needed and DF set.{0,40}$", re.MULTILINE)


class Hop(msgspec.Struct, frozen=True):
    """The part of `ip -j route get` that is read."""

    dev: str = ""


class FullSize(msgspec.Struct, frozen=True, kw_only=True):
    """What came back of packets of the interface's full MTU to one peer that answers small ones."""

    peer: str
    target: str
    interface: str = ""
    mtu: int = 0
    sent: int = 0
    received: int = 0
    said: str = ""
    missing: Missing | None = None
    age_s: float = 0.0


class FullSizes(Observation, frozen=True, kw_only=True):
    """One entry for each peer that answers `ping`."""

    peers: tuple[FullSize, ...] = ()


async def collect(node: Node, wanted: Wanted, pings: Pings | Missing) -> FullSizes | Missing:
    """Send three packets of full size to each peer that answers small ones."""
    if isinstance(pings, Missing):
        return pings
    answering = [probe for probe in pings.probes if probe.answered and _address(probe)]
    began, end = node.monotonic(), math.inf if wanted.patient else START_S
    peers = [await send(node, one) for one in answering if node.monotonic() - began <= end]
    return FullSizes(peers=tuple(peers))


async def send(node: Node, probe: Probe) -> FullSize:
    """Send packets as large as the interface of the route to this peer allows."""
    address = _address(probe) or ""
    routed = await node.command("ip", "-j", "route", "get", address, deadline_s=ROUTE_S)
    interface = routed if isinstance(routed, Missing) else device(routed)
    if isinstance(interface, Missing):
        return FullSize(peer=probe.peer, target=address, missing=interface)
    path = f"/sys/class/net/{interface}/mtu"
    seen = await node.files(path, cap=32)
    text = None if isinstance(seen, Missing) else seen.get(path)
    if text is None or not text.isdecimal():
        missing = Missing(what=path, cause=Cause.GARBLED, detail=f"no MTU of {interface}")
        return FullSize(peer=probe.peer, target=address, missing=missing)
    mtu = min(int(text), 65_535)
    size = mtu - HEADERS[ipaddress.ip_address(address).version]
    got = await node.command("ping", *OPTIONS, "-s", str(size), address, deadline_s=DEADLINE_S)
    read = FullSize(peer=probe.peer, target=address, interface=interface, mtu=mtu)
    if isinstance(got, Missing):
        return msgspec.structs.replace(read, missing=got)
    return parse(read, got)


def device(got: Output) -> str | Missing:
    """Return the interface that `ip -j route get` names."""
    try:
        hops = msgspec.json.decode(got.stdout, type=list[Hop])
    except ValueError:
        hops = []
    # The name becomes part of a path.
    if hops and re.fullmatch(r"[^\s/]{1,15}", hops[0].dev) and hops[0].dev not in (".", ".."):
        return hops[0].dev
    detail = (got.stderr.strip().splitlines() or ["no route"])[-1][:SAID_CAP]
    return Missing(what="ip route get", cause=Cause.GARBLED, detail=detail)


def parse(read: FullSize, got: Output) -> FullSize:
    """Return the counts of the statistics line; a router's or this host's word stands in `said`."""
    text = got.stdout + got.stderr
    sent = SENT.search(got.stdout)
    if sent is None:
        said = (got.stderr.strip().splitlines() or ["no statistics"])[-1][:SAID_CAP]
        missing = Missing(what=f"ping {read.target}", cause=Cause.GARBLED, detail=said)
        return msgspec.structs.replace(read, missing=missing)
    word = NEEDED.search(text) or TOO_LONG.search(text)
    return msgspec.structs.replace(
        read,
        sent=int(sent[1]),
        received=min(int(sent[2]), int(sent[1])),
        said=(word or sent)[0].strip()[:SAID_CAP],
    )


def _address(probe: Probe) -> str | None:
    """Return the address in numbers, as ping resolved it."""
    for text in (probe.address, probe.target):
        try:
            return str(ipaddress.ip_address(text or ""))
        except ValueError:
            continue
    return None
