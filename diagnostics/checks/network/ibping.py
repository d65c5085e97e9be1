"""Do the peers answer over InfiniBand."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.network.ibping import IbPings
from collectors.network.peers import Probe
from collectors.network.ports import Ports
from diagnostics.check import Limits, check
from diagnostics.checks.network.peers import NO_PEERS, Words, judge
from diagnostics.finding import Finding, NotApplicable, Statement


class IbPingLimits(Limits, frozen=True, kw_only=True):
    """How many of ten pings may be lost; each was tried three times by the tool."""

    loss_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="loss above this is a warning, in percent")
    ] = 10.0


@check(
    "network.ibping",
    stage="network",
    faults=("ib_ping_unreachable", "ib_ping_loss"),
    proved="real-tool",
)
def ibping(seen: IbPings, ports: Ports | Missing, limits: IbPingLimits) -> Iterator[Statement]:
    """Each peer with a LID or port GUID in the settings answers `ibping`.

    It goes the way of RDMA: port, cable, switch, the peer's port and its kernel, without IP. Where
    it fails though both ports are ACTIVE, the fabric between them is the place to look. The peer
    must run `ibping -S`. Times are not judged: the tool prints wrong ones.
    """
    if not seen.probes:
        yield NotApplicable(why=f"{NO_PEERS} (with lid or port_guid)")
        return
    if _no_hardware(seen, ports):
        yield NotApplicable(why="no InfiniBand device on this node")
        return
    words = Words(
        tool="ibping",
        unreachable="ib_ping_unreachable",
        loss="ib_ping_loss",
        loss_percent=limits.loss_percent,
    )
    yield from judge(seen.probes, words, _nothing_more)


def _no_hardware(seen: IbPings, ports: Ports | Missing) -> bool:
    """Tell a node without InfiniBand from one whose tool or module is absent."""
    if isinstance(ports, Missing) or any(port.infiniband for port in ports.ports):
        return False
    return all(probe.missing and probe.missing.cause is Cause.NO_TOOL for probe in seen.probes)


def _nothing_more(probe: Probe) -> Iterator[Finding]:
    del probe
    yield from ()
