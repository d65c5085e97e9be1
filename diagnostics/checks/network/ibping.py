"""Do the peers answer over InfiniBand."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.network.ibping import IbPings
from collectors.network.peers import Probe
from collectors.network.ports import Ports
from diagnostics.check import NODE, Limits, check
from diagnostics.checks.network.bad_end import bad_end
from diagnostics.checks.network.peers import (
    NO_PEERS,
    Words,
    at,
    evidence,
    lossy,
    subject,
    unasked,
)
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found

SELF = "this node"
# Who answered at about the time of a failure says something of it: two rounds of probes.
SAME_TIME_S = 600.0


class IbPingLimits(Limits, frozen=True, kw_only=True):
    """How many of ten pings may be lost, and how long they may take; each was tried three times."""

    loss_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="loss above this is a warning, in percent")
    ] = 10.0
    latency_ms: Annotated[
        float, msgspec.Meta(gt=0, description="time for one ping above this is told, in ms")
    ] = 50.0


WORDS = Words(tool="ibping", unreachable="ib_ping_unreachable", loss="ib_ping_loss", loss_percent=0)


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
    fault only of a peer that has answered since the agent's start and whose server is said to run;
    how the others do then names the bad end. Times are the tool's whole run, measured outside: it
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
        yield from _silent(silent, asked, ports)
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


def _silent(
    silent: Sequence[Probe], asked: Sequence[Probe], ports: Ports | Missing
) -> Iterator[Finding]:
    proved = [probe for probe in silent if _proved(probe)]
    yield from (_one(probe, asked) for probe in proved if not _ours(probe, asked))
    if ours := [probe for probe in proved if _ours(probe, asked)]:
        yield _own_end(ours)
    unknown = [probe for probe in silent if probe not in proved]
    if not unknown:
        return
    if len(unknown) == len(asked) and _active(ports):
        yield _not_possible(unknown)
    else:
        yield from (_unproved(probe) for probe in unknown)


def _proved(probe: Probe) -> bool:
    """Return whether this way worked before, and the peer is said to serve still."""
    return probe.answered_s is not None and probe.serves


def _active(ports: Ports | Missing) -> bool:
    return not isinstance(ports, Missing) and any(p.active and p.infiniband for p in ports.ports)


def _tried(probe: Probe, asked: Sequence[Probe]) -> dict[tuple[str, str], bool]:
    """Return who answered this node at about that time, on the same rail."""
    return {
        (SELF, other.peer): other.answered
        for other in asked
        if other.rail == probe.rail
        and abs(other.age_s - probe.age_s) <= SAME_TIME_S
        # A peer that never answered says nothing about either end.
        and (other.answered or _proved(other))
    }


def _ours(probe: Probe, asked: Sequence[Probe]) -> bool:
    return bad_end(SELF, probe.peer, _tried(probe, asked)) == "first"


def _one(probe: Probe, asked: Sequence[Probe]) -> Finding:
    good = [peer for (_, peer), answered in _tried(probe, asked).items() if answered]
    return found(
        "ib_ping_unreachable",
        "warning",
        subject(probe),
        "{peer} ({target}) answered none of {sent} ibping packets; it did {ago} s ago, and "
        "{good} other {nodes} now: the bad end is there"
        if good
        else "{peer} ({target}) answered none of {sent} ibping packets; it did {ago} s ago",
        evidence(probe, WORDS),
        variant="there" if good else "",
        confidence=0.9 if good else 0.7,
        peer=probe.peer,
        target=at(probe, WORDS),
        sent=probe.sent,
        ago=round(probe.answered_s or 0.0),
        good=len(good),
        nodes="node does" if len(good) == 1 else "nodes do",
    )


def _own_end(silent: Sequence[Probe]) -> Finding:
    """When nobody answers who did before, the one thing that all ways share is this node."""
    return found(
        "ib_ping_unreachable",
        "warning",
        NODE,
        "none of {silent} peers answers ibping from this node any more: {peers}; the bad end is "
        "here",
        *(evidence(probe, WORDS) for probe in silent),
        variant="here",
        silent=len(silent),
        peers=", ".join(probe.peer for probe in silent),
    )


def _unproved(probe: Probe) -> Finding:
    return found(
        "ib_ping_unreachable",
        "info",
        subject(probe),
        "{peer} ({target}) gives no answer to ibping: {said}; that it ever did, or that its server "
        "runs, is not known",
        evidence(probe, WORDS),
        variant="unproved",
        confidence=0.5,
        peer=probe.peer,
        target=at(probe, WORDS),
        said=probe.said,
    )


def _not_possible(silent: Sequence[Probe]) -> Finding:
    return found(
        "ib_partition_blocks_probe",
        "info",
        NODE,
        "ibping is not possible here: none of {silent} peers has ever answered, though this node's "
        "port is ACTIVE (partition, M_Key, or no server on the peers)",
        *(evidence(probe, WORDS) for probe in silent),
        confidence=0.7,
        silent=len(silent),
    )


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
