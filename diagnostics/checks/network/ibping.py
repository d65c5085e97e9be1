"""Do the peers answer over InfiniBand."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.network.ibping import IbPings
from collectors.network.peers import Probe
from collectors.network.ports import Ports
from diagnostics.check import Limits, check
from diagnostics.checks.network.peers import NO_PEERS, at, evidence, lossy, subject, unasked
from diagnostics.checks.network.silence import WORDS, told
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found


class IbPingLimits(Limits, frozen=True, kw_only=True):
    """How many of ten pings may be lost, and how long they may take; each was tried three times."""

    loss_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="loss above this is a warning, in percent")
    ] = 10.0
    latency_ms: Annotated[
        float, msgspec.Meta(gt=0, description="time for one ping above this is told, in ms")
    ] = 50.0


@check(
    "network.ibping",
    stage="network",
    faults=(
        "ib_ping_unreachable",
        "ib_ping_loss",
        "ib_ping_latency_high",
        "ib_partition_blocks_probe",
    ),
    proved="real-tool",
)
def ibping(seen: IbPings, ports: Ports | Missing, limits: IbPingLimits) -> Iterator[Statement]:
    """Each peer with a LID or port GUID in the settings answers `ibping`, if it ever did.

    It goes the way of RDMA: port, cable, switch, the peer's port and its kernel, without IP. A
    partition, an M_Key or a peer without `ibping -S` is silent in health, too: so silence is a
    fault only of a peer whose server is said to run, and only if it has answered since the agent's
    start, or both ends were answered by others since boot and their P_Keys let the two talk; how
    the others do then names the bad end. Times are the tool's whole run, measured outside: it
    prints wrong ones.
    """
    if not seen.probes:
        yield NotApplicable(why=f"{NO_PEERS} (with lid or port_guid)")
        return
    if _no_hardware(seen, ports):
        yield NotApplicable(why="no InfiniBand device on this node")
        return
    yield from unasked(seen.probes)
    asked = [probe for probe in seen.probes if probe.missing is None]
    silent = [probe for probe in asked if not probe.answered]
    words = msgspec.structs.replace(WORDS, loss_percent=limits.loss_percent)
    if silent:
        yield from told(silent, asked, active=_active(ports))
    for probe in asked:
        if probe.answered and probe.lost_percent:
            yield lossy(probe, words)
        elif probe.answered:
            yield from _late(probe, limits)
    if answered := len(asked) - len(silent):
        yield Well(message=f"{answered} of {len(asked)} peers answer ibping")


def _no_hardware(seen: IbPings, ports: Ports | Missing) -> bool:
    """Tell a node without InfiniBand from one whose tool or module is absent."""
    if isinstance(ports, Missing) or any(port.infiniband for port in ports.ports):
        return False
    return all(probe.missing and probe.missing.cause is Cause.NO_TOOL for probe in seen.probes)


def _active(ports: Ports | Missing) -> bool:
    return not isinstance(ports, Missing) and any(p.active and p.infiniband for p in ports.ports)


def _late(probe: Probe, limits: IbPingLimits) -> Iterator[Finding]:
    if probe.seconds is None or not probe.sent:
        return
    each = 1000.0 * probe.seconds / probe.sent
    if each > limits.latency_ms:
        yield found(
            "ib_ping_latency_high",
            "info",
            subject(probe),
            "{sent} ibping packets to {peer} ({target}) took {seconds:g} s; {limit:g} ms each are "
            "the limit",
            evidence(probe, WORDS),
            sent=probe.sent,
            peer=probe.peer,
            target=at(probe, WORDS),
            seconds=round(probe.seconds, 3),
            limit=limits.latency_ms,
        )
