"""Probing the peers that the settings name: a few at once, and never for longer than a walk has."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Peer
from collectors.node.at_once import at_once
from collectors.node.protocol import Node

AT_ONCE = 4
# Peers that do not answer cost seconds each; after this no new probe is begun.
START_S = 6.0


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool said of the way to one peer.

    `said` is the tool's own line. `sent` is 0 where it could send nothing, and `said` tells why.
    Round-trip times in ms, None where the tool's are not to be trusted or nothing came back.
    """

    peer: str
    target: str
    sent: int = 0
    received: int = 0
    rtt_min_ms: float | None = None
    rtt_avg_ms: float | None = None
    said: str = ""
    missing: Missing | None = None

    @property
    def lost_percent(self) -> float:
        """Return the share of probes without an answer; 100 where none could be sent."""
        return 100.0 * (self.sent - self.received) / self.sent if self.sent else 100.0

    @property
    def answered(self) -> bool:
        """Return whether at least one answer came."""
        return self.received > 0


async def each(
    node: Node, peers: Sequence[Peer], probe: Callable[[Node, Peer], Awaitable[Probe]]
) -> tuple[Probe, ...]:
    """Probe all peers, four at once, in an order that is the same each time."""
    done: dict[int, Probe] = {}

    async def lane(first: int, branch: Node) -> None:
        began = branch.monotonic()
        for index in range(first, len(peers), AT_ONCE):
            late = branch.monotonic() - began > START_S
            done[index] = _late(peers[index]) if late else await probe(branch, peers[index])

    await at_once(node, [partial(lane, first) for first in range(len(peers[:AT_ONCE]))])
    return tuple(done[index] for index in range(len(peers)))


def _late(peer: Peer) -> Probe:
    detail = f"not begun: the peers before it took {START_S:g} s"
    missing = Missing(what=f"probe of {peer.name}", cause=Cause.TIMEOUT, detail=detail)
    return Probe(peer=peer.name, target="", missing=missing)
