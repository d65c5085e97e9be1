"""Do the peers answer over IP, without loss and soon."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.network.peers import Probe
from collectors.network.ping import Pings
from diagnostics.check import Limits, check
from diagnostics.checks.network.peers import NO_PEERS, Words, evidence, judge, subject
from diagnostics.finding import Finding, NotApplicable, Statement, found


class PingLimits(Limits, frozen=True, kw_only=True):
    """What is too much inside one cluster."""

    loss_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="loss above this is a warning, in percent")
    ] = 20.0
    latency_ms: Annotated[
        float, msgspec.Meta(gt=0, description="round trip above this is too slow, in ms")
    ] = 5.0


@check(
    "network.ping",
    stage="network",
    faults=("ping_unreachable", "ping_loss", "ping_latency_high"),
    proved="real-tool",
)
def ping(seen: Pings, limits: PingLimits) -> Iterator[Statement]:
    """Each peer with an address in the settings answers `ping`, whole and within the limit.

    Rendezvous, NCCL's bootstrap and storage go over IP. One packet of five may be lost where an
    address is first resolved; the fastest packet tells a slow way from a busy peer.
    """
    if not seen.probes:
        yield NotApplicable(why=f"{NO_PEERS} (with address)")
        return
    words = Words(
        tool="ping",
        unreachable="ping_unreachable",
        loss="ping_loss",
        loss_percent=limits.loss_percent,
    )

    def late(probe: Probe) -> Iterator[Finding]:
        average, fastest = probe.rtt_avg_ms, probe.rtt_min_ms
        if average is None or fastest is None or average <= limits.latency_ms:
            return
        yield found(
            "ping_latency_high",
            "warning" if fastest > limits.latency_ms else "info",
            subject(probe),
            "{peer} ({target}) answers ping after {average:g} ms on average, {fastest:g} ms at "
            "best; the limit is {limit:g} ms",
            evidence(probe, words),
            peer=probe.peer,
            target=probe.target,
            average=round(average, 3),
            fastest=round(fastest, 3),
            limit=limits.latency_ms,
        )

    yield from judge(seen.probes, words, late)
