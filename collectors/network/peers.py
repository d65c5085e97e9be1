"""Probing the peers that the settings name: one at a time, and never for longer than a walk has."""

import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Peer
from collectors.node.protocol import Node

# Peers that do not answer cost seconds each; after this no new probe is begun.
START_S = 9.0


class OtherEnd(msgspec.Struct, frozen=True, kw_only=True):
    """A peer's port as its own agent tells of it.

    `worked_s` is how long ago it was last answered by anybody, `lid` what it had then. `reachable`:
    its partition and ours let the two talk.
    """

    worked_s: float
    reachable: bool = False
    lid: int | None = None


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool said of the way to one peer.

    `said` is the tool's own line. `sent` is 0 where it could send nothing, and `said` tells why.
    Round-trip times in ms, None where the tool's are not to be trusted or nothing came back.
    `seconds` is how long the tool ran in all, by our clock.
    `address` is the target in numbers, where the tool told it.
    `age_s` is how long ago it was made. `answered_s` is how long ago this peer last answered this
    node, None where it was not seen to since the agent's start. `peer_rail` is the other end's
    device, "" where it is called as ours. `theirs` is what the peer's agent says of its end.
    """

    peer: str
    target: str
    rail: str = ""
    peer_rail: str = ""
    serves: bool = False
    address: str | None = None
    sent: int = 0
    received: int = 0
    rtt_min_ms: float | None = None
    rtt_avg_ms: float | None = None
    seconds: float | None = None
    said: str = ""
    missing: Missing | None = None
    age_s: float = 0.0
    answered_s: float | None = None
    theirs: OtherEnd | None = None

    @property
    def lost_percent(self) -> float:
        """Return the share of probes without an answer; 100 where none could be sent."""
        return 100.0 * (self.sent - self.received) / self.sent if self.sent else 100.0

    @property
    def answered(self) -> bool:
        """Return whether at least one answer came."""
        return self.received > 0


def short(name: str) -> str:
    """Return a host's name without its domain."""
    return name.partition(".")[0].lower()


async def others(node: Node, peers: Sequence[Peer]) -> list[Peer]:
    """Return the peers but this node itself: one list may serve all nodes."""
    own = short((await node.identity()).node) if peers else ""
    return [peer for peer in peers if short(peer.name) != own]


async def each(
    node: Node,
    peers: Sequence[Peer],
    probe: Callable[[Node, Peer], Awaitable[Probe]],
    *,
    patient: bool = False,
) -> tuple[Probe, ...]:
    """Probe peer after peer, in the settings' order; all of them where somebody is *patient*."""
    began, end = node.monotonic(), math.inf if patient else START_S
    return tuple(
        [
            _late(peer) if node.monotonic() - began > end else await probe(node, peer)
            for peer in peers
        ]
    )


def _late(peer: Peer) -> Probe:
    detail = f"not begun: the peers before it took {START_S:g} s"
    missing = Missing(what=f"probe of {peer.name}", cause=Cause.TIMEOUT, detail=detail)
    return Probe(peer=peer.name, target="", rail=peer.rail, missing=missing)
