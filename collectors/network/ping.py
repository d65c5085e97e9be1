"""`ping` to the peers that have an address: the statistics line, never the exit status."""

import re

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Peer, Wanted
from collectors.network import traffic
from collectors.network.peers import Probe, each, others
from collectors.node.protocol import Node

OPTIONS = ("-n", "-q", "-c", "5", "-i", "0.2", "-W", "1")
DEADLINE_S = 6.0
SAID_CAP = 200

# 5 packets transmitted, 3 received, +2 errors, 40% packet loss, time 813ms
# 5 packets transmitted, 5 packets received, 0% packet loss            (busybox)
SENT = re.compile(
    r"^(\d{1,6}) packets transmitted, (\d{1,6}) (?:packets )?received.{0,120}$", re.MULTILINE
)
# rtt min/avg/max/mdev = 0.045/0.119/0.380/0.130 ms
# round-trip min/avg/max = 0.051/0.060/0.071 ms                        (busybox)
RTT = re.compile(
    r"^(?:rtt|round-trip) min/avg/max\S{0,6} = (\d{1,9}\.\d{1,6})/(\d{1,9}\.\d{1,6})/", re.MULTILINE
)
# PING gpu-018 (192.0.2.18) 56(84) bytes of data.
HEAD = re.compile(r"^PING \S{1,253} ?\(([0-9A-Fa-f.:]{2,45})\)", re.MULTILINE)
# ping: connect: Network is unreachable
NO_ROUTE = "Network is unreachable"


class Pings(Observation, frozen=True, kw_only=True):
    """What `ping` said of each peer that has an address, in the settings' order."""

    probes: tuple[Probe, ...] = ()


async def collect(node: Node, wanted: Wanted) -> Pings | Missing:
    """Ping each peer five times within a second."""
    peers = [peer for peer in await others(node, wanted.peers) if peer.address]
    if peers and (held := await traffic.heavy(node, wanted.sample_s)):
        return held
    return Pings(probes=await each(node, peers, probe, patient=wanted.patient))


async def probe(node: Node, peer: Peer) -> Probe:
    """Ping one peer."""
    target = peer.address or ""
    got = await node.command("ping", *OPTIONS, target, deadline_s=DEADLINE_S)
    if isinstance(got, Missing):
        return Probe(peer=peer.name, target=target, missing=got)
    return parse(peer.name, target, got)


def parse(peer: str, target: str, got: Output) -> Probe:
    """Return what the statistics line says; without one, only "no route" is an answer."""
    sent = SENT.search(got.stdout)
    if sent is None:
        said = (got.stderr.strip().splitlines() or ["no statistics"])[-1][:SAID_CAP]
        if NO_ROUTE in said:
            return Probe(peer=peer, target=target, said=said)
        missing = Missing(what=f"ping {target}", cause=Cause.GARBLED, detail=said)
        return Probe(peer=peer, target=target, missing=missing)
    rtt = RTT.search(got.stdout)
    head = HEAD.search(got.stdout)
    return Probe(
        peer=peer,
        target=target,
        address=head[1] if head else None,
        sent=int(sent[1]),
        received=min(int(sent[2]), int(sent[1])),
        rtt_min_ms=float(rtt[1]) if rtt else None,
        rtt_avg_ms=float(rtt[2]) if rtt else None,
        said=sent[0][:SAID_CAP],
    )
