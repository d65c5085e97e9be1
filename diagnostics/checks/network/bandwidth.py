"""Are the ways to the peers as fast as their lines, when a person measures them."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.gpu.nvml import GpuSnapshot
from collectors.network.bandwidth import Bandwidths, Measured
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

# Bus bandwidth of all-reduce in GB/s on eight GPUs with messages of 16 GiB, below which Azure's
# node health check fails a node (H100 with NVLink SHARP).
LEAST_BUS = {"A100": 228.0, "H100": 460.0, "H200": 431.0}
WHOLE_NODE = 8
# Faster lines are more than the cores that iperf3 uses can fill.
IPERF_GBPS = 25.0


class BandwidthLimits(Limits, frozen=True, kw_only=True):
    """What of a line's rate must be reached."""

    percent: Annotated[
        float, msgspec.Meta(gt=0, le=100, description="share of the line's rate, in percent")
    ] = 90.0


@check(
    "network.bandwidth",
    stage="network",
    faults=("network_bandwidth_low", "allreduce_bandwidth_low"),
    proved="documented",
)
def bandwidth(
    seen: Bandwidths, gpus: GpuSnapshot | Missing, limits: BandwidthLimits
) -> Iterator[Statement]:
    """Each way that was measured carries nine tenths of its line's rate.

    It is measured only by `gpudiag net test --bandwidth`, on a node without a job: a full line is
    what a job would have for itself. A port that shows its full rate and carries half of it has a
    PCIe link, a NUMA node, a congested switch or settings behind it.
    """
    if not seen.asked:
        yield NotApplicable(why="measured by gpudiag net test --bandwidth alone")
        return
    for one in seen.measured:
        if one.missing is not None:
            if one.missing.cause is not Cause.NOT_RECORDED:
                yield Unseen(missing=one.missing)
        elif one.bus_gb_s is not None:
            yield _collective(one, one.bus_gb_s, gpus)
        elif one.gbps is not None:
            yield _way(one, one.gbps, limits)


def _way(one: Measured, gbps: float, limits: BandwidthLimits) -> Finding | Well:
    line = one.line_gbps
    if not line:
        return Well(message=f"{one.way}: {gbps:g} Gb/s by {one.tool}")
    percent = 100.0 * gbps / line
    if percent >= limits.percent:
        return Well(message=f"{one.way}: {gbps:g} of {line:g} Gb/s by {one.tool}")
    sure = one.tool != "iperf3" or line <= IPERF_GBPS
    return found(
        "network_bandwidth_low",
        "warning" if sure else "info",
        Subject(kind="node", name=one.peer, peer=one.peer) if one.peer else NODE,
        "{way}: {tool} reaches {gbps:g} of {line:g} Gb/s, {percent} %; {least:g} % are expected",
        Evidence(
            source=one.tool,
            text=one.said,
            values={"gbps": gbps, "line_gbps": line, "device": one.device},
        ),
        confidence=0.8 if sure else 0.4,
        way=one.way,
        tool=one.tool,
        gbps=round(gbps, 2),
        line=line,
        percent=round(percent),
        least=limits.percent,
    )


def _collective(one: Measured, bus: float, gpus: GpuSnapshot | Missing) -> Finding | Well:
    names = [] if isinstance(gpus, Missing) else [gpu.name or "" for gpu in gpus.gpus]
    least = next((gb_s for model, gb_s in LEAST_BUS.items() if names and model in names[0]), None)
    if least is None or one.gpus != WHOLE_NODE or bus >= least:
        return Well(message=f"{one.way}: all-reduce moves {bus:g} GB/s")
    return found(
        "allreduce_bandwidth_low",
        "warning",
        NODE,
        "{way}: all-reduce moves {bus:g} GB/s; {least:g} GB/s are usual for {model}",
        Evidence(source=one.tool, text=one.said, values={"bus_gb_s": bus}),
        variant="measured",
        way=one.way,
        bus=bus,
        least=least,
        model=names[0],
    )
