"""How fast the ways to the peers and between the GPUs are: measured only when a person asks."""

import re
from collections.abc import AsyncIterator

import msgspec

from collectors.facts.answers import Output
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Peer, Wanted
from collectors.network.full_mtu import device
from collectors.network.peers import others
from collectors.network.ports import Port, Ports
from collectors.node.protocol import Node

SECONDS = 5
DEADLINE_S = 20.0
ROUTE_S = 2.0
COLLECTIVE_S = 120.0
SAID_CAP = 200
BYTES = 65_536
GPUS = "/dev/nvidia[0-9]*"

WRITE = ("--report_gbits", "-F", "-D", str(SECONDS), "-s", str(BYTES))
# One stream is one core's worth.
IPERF = ("-J", "-t", str(SECONDS), "-P", "8")
# Sixteen GiB is the size for which thresholds are published; rank 0 prints one row.
COLLECTIVE = ("-b", "16G", "-e", "16G", "-n", "5", "-w", "2")

# bytes, iterations, peak and average in Gb/s, messages in millions a second:
#  65536      1846213          0.00               387.17             0.738477
ROW = re.compile(
    r"^\s{0,8}65536\s{1,16}\d{1,12}\s{1,24}\d{1,6}\.\d{1,6}\s{1,24}(\d{1,6}\.\d{1,6})\s.{0,40}$",
    re.MULTILINE,
)
# # Avg bus bandwidth    : 471.833
AVERAGE = re.compile(r"^# Avg bus bandwidth\s{0,8}: (\d{1,6}(?:\.\d{1,6})?)\s*$", re.MULTILINE)


class Rate(msgspec.Struct, frozen=True):
    """A part of iperf3's JSON."""

    bits_per_second: float = 0.0


class End(msgspec.Struct, frozen=True):
    """A part of iperf3's JSON."""

    sum_received: Rate | None = None


class Report(msgspec.Struct, frozen=True):
    """What iperf3 -J prints."""

    end: End = End()
    error: str = ""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What one tool measured: `gbps` in Gb/s and what the line can carry, or `bus_gb_s` in GB/s.

    `way` is "gpu-018 by mlx5_0", or the GPUs of this node. `device` is the adapter or interface of
    this node that it went by, `gpus` the number of GPUs.
    """

    tool: str
    way: str
    peer: str | None = None
    device: str | None = None
    gbps: float | None = None
    line_gbps: float | None = None
    bus_gb_s: float | None = None
    gpus: int = 0
    said: str = ""
    missing: Missing | None = None


class Bandwidths(Observation, frozen=True, kw_only=True):
    """What was measured; `asked` is False where nobody asked for it, which is the rule."""

    asked: bool = False
    measured: tuple[Measured, ...] = ()


async def collect(node: Node, wanted: Wanted, ports: Ports | Missing) -> Bandwidths | Missing:
    """Measure to each peer, one tool after the other, and then between the GPUs of this node."""
    if not wanted.bandwidth:
        return Bandwidths()
    active = [] if isinstance(ports, Missing) else [p for p in ports.ports if p.active]
    measured = [one async for one in _measure(node, wanted, active)]
    return Bandwidths(asked=True, measured=tuple(measured))


async def _measure(node: Node, wanted: Wanted, active: list[Port]) -> AsyncIterator[Measured]:
    for peer in await others(node, wanted.peers):
        if not peer.address:
            continue
        for port in active:
            if peer.rail in ("", port.device):
                yield await _write(node, peer, port)
        yield await _iperf(node, peer)
    yield await _collective(node)


async def _write(node: Node, peer: Peer, port: Port) -> Measured:
    way = f"{peer.name} by {port.device}"
    read = Measured(
        tool="ib_write_bw",
        way=way,
        peer=peer.name,
        device=port.device,
        line_gbps=port.rate_gbps,
    )
    argv = ("-d", port.device, *WRITE, peer.address or "")
    got = await node.command("ib_write_bw", *argv, deadline_s=DEADLINE_S)
    hit = None if isinstance(got, Missing) else ROW.search(got.stdout)
    if hit is None:
        return _unmeasured(read, got)
    return msgspec.structs.replace(read, gbps=float(hit[1]), said=hit[0].strip()[:SAID_CAP])


async def _iperf(node: Node, peer: Peer) -> Measured:
    address = peer.address or ""
    routed = await node.command("ip", "-j", "route", "get", address, deadline_s=ROUTE_S)
    name = routed if isinstance(routed, Missing) else device(routed)
    line = None if isinstance(name, Missing) else await _speed(node, name)
    by = None if isinstance(name, Missing) else name
    way = f"{peer.name} by {by}" if by else peer.name
    read = Measured(tool="iperf3", way=way, peer=peer.name, device=by, line_gbps=line)
    got = await node.command("iperf3", "-c", address, *IPERF, deadline_s=DEADLINE_S)
    report = None if isinstance(got, Missing) else reported(got)
    if report is None or report.end.sum_received is None:
        return _unmeasured(read, got, report.error if report else "")
    gbps = round(report.end.sum_received.bits_per_second / 1e9, 2)
    return msgspec.structs.replace(read, gbps=gbps, said=f"sum_received {gbps} Gb/s")


async def _speed(node: Node, name: str) -> float | None:
    path = f"/sys/class/net/{name}/speed"
    seen = await node.files(path, cap=32)
    text = None if isinstance(seen, Missing) else seen.get(path)
    return int(text) / 1000 if text and text.isdecimal() else None


async def _collective(node: Node) -> Measured:
    seen = await node.files(names=(GPUS,))
    gpus = 0 if isinstance(seen, Missing) else len(seen.texts)
    read = Measured(tool="all_reduce_perf", way=f"the {gpus} GPUs of this node", gpus=gpus)
    if gpus < 2:  # noqa: PLR2004 - a collective takes two
        missing = Missing(what="all_reduce_perf", cause=Cause.NOT_RECORDED, detail="under two GPUs")
        return msgspec.structs.replace(read, missing=missing)
    argv = (*COLLECTIVE, "-g", str(gpus))
    got = await node.command("all_reduce_perf", *argv, deadline_s=COLLECTIVE_S)
    hit = None if isinstance(got, Missing) else AVERAGE.search(got.stdout)
    if hit is None:
        return _unmeasured(read, got)
    return msgspec.structs.replace(read, bus_gb_s=float(hit[1]), said=hit[0].strip()[:SAID_CAP])


def reported(got: Output) -> Report | None:
    """Return what iperf3 printed, None where it is no JSON of its form."""
    try:
        return msgspec.json.decode(got.stdout, type=Report)
    except ValueError:
        return None


def _unmeasured(read: Measured, got: Output | Missing, why: str = "") -> Measured:
    if isinstance(got, Missing):
        return msgspec.structs.replace(read, missing=got)
    lines = [line for line in (got.stderr + "\n" + got.stdout).splitlines() if line.strip()]
    detail = why or (lines or ["no output"])[-1].strip()
    missing = Missing(
        what=f"{read.tool} to {read.way}", cause=Cause.GARBLED, detail=detail[:SAID_CAP]
    )
    return msgspec.structs.replace(read, missing=missing)
