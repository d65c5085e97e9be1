"""Is the network of the training traffic fast enough, and does storage keep off it."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.gpu.pcie import PciTree
from collectors.host.mounts import Mount, Mounts
from collectors.network.interfaces import Interfaces
from collectors.network.ports import Port, Ports
from collectors.network.routes import TABLE, Routes
from diagnostics.check import Limits, check
from diagnostics.checks.network.roles import Network, Roles, apart, network, roles, stored
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found


class TrafficLimits(Limits, frozen=True, kw_only=True):
    """How slow a port of the training traffic may be."""

    least_gbps: Annotated[
        float, msgspec.Meta(ge=0, description="a slower compute port is a warning, in Gb/s")
    ] = 10.0


@check(
    "network.traffic",
    stage="network",
    faults=("ib_port_rate_low", "nic_speed_low", "storage_traffic_on_compute_network"),
    proved="recorded",
)
def traffic(  # noqa: PLR0917 - a port's role is read off all of these
    seen: Ports,
    tree: PciTree | Missing,
    interfaces: Interfaces | Missing,
    routes: Routes | Missing,
    mounts: Mounts | Missing,
    limits: TrafficLimits,
) -> Iterator[Statement]:
    """Ports for training traffic are fast, and no file system is reached over them.

    Gradients go over these ports in bursts, and a checkpoint or a data loader's reads beside them
    make every rank wait. The settings' table `[network.roles]` says which ports are for what;
    without it the place beside a GPU, routes and mounts do.
    """
    whole = network(seen, tree, interfaces, routes, mounts)
    known = roles(whole)
    nics = [] if isinstance(interfaces, Missing) else list(interfaces.interfaces)
    ports = [p for p in seen.ports if known.of.get(p.name) == "compute" and p.active]
    below = {name for port in seen.ports for name in port.netdevs}
    compute = [n for n in nics if known.of.get(n.name) == "compute" and n.name not in below]
    if not ports and not compute:
        yield NotApplicable(why="no port for training traffic is known and in use")
        return
    slow = [_slow_port(p, known, limits) for p in ports if _below(p.rate_gbps, limits)]
    slow += [
        _slow_nic(n.name, n.speed_mbps, known, limits)
        for n in compute
        if n.running and n.speed_mbps and _below(n.speed_mbps / 1000, limits)
    ]
    shared = list(_shared(whole, known))
    # Without either, nothing is known of what storage is reached over.
    unseen = [
        Unseen(missing=one)
        for one in (routes, mounts)
        if isinstance(one, Missing) and one.cause is not Cause.NOT_RECORDED
    ]
    yield from slow
    yield from shared
    yield from unseen
    if not slow and not shared and not unseen:
        yield Well(message=_well(ports, len(compute)))


def _below(gbps: float | None, limits: TrafficLimits) -> bool:
    return gbps is not None and gbps < limits.least_gbps


def _well(ports: Sequence[Port], nics: int) -> str:
    count = len(ports) or nics
    return f"{count} {'port' if count == 1 else 'ports'} for training traffic, no storage on them"


def _slow_port(port: Port, known: Roles, limits: TrafficLimits) -> Finding:
    path = f"/sys/class/infiniband/{port.device}/ports/{port.port}/rate"
    return found(
        "ib_port_rate_low",
        "warning",
        Subject(kind="port", name=port.name),
        "port {port} is for training traffic ({why}) and runs at {rate:g} Gb/s; at least {least:g} "
        "Gb/s are meant to be there",
        Evidence(source=path, values={"rate_gbps": port.rate_gbps, "width": port.width}),
        variant="compute",
        port=port.name,
        why=known.why[port.name],
        rate=port.rate_gbps,
        least=limits.least_gbps,
    )


def _slow_nic(name: str, mbps: int, known: Roles, limits: TrafficLimits) -> Finding:
    return found(
        "nic_speed_low",
        "warning",
        Subject(kind="nic", name=name),
        "interface {name} is for training traffic ({why}) and runs at {speed} Mb/s; at least "
        "{least:g} Gb/s are meant to be there",
        Evidence(source=f"/sys/class/net/{name}/speed", values={"speed_mbps": mbps}),
        variant="compute",
        name=name,
        why=known.why[name],
        speed=mbps,
        least=limits.least_gbps,
    )


def _shared(whole: Network, known: Roles) -> Iterator[Finding]:
    other = apart(whole, known)
    for mount, device in stored(whole):
        if known.of.get(device) == "compute":
            yield _over(mount, device, known, other=other)


def _over(mount: Mount, device: str, known: Roles, *, other: bool) -> Finding:
    """Where there is no other fast port, or nobody gave this one a role, it can be by design."""
    meant = known.why[device] == "by the settings"
    return found(
        "storage_traffic_on_compute_network",
        "warning" if other or meant else "info",
        Subject(kind="mount", name=mount.point),
        "{point} ({source}) is reached over {device}, which is for training traffic ({why})",
        Evidence(
            source=TABLE,
            values={"mount": mount.source, "device": device, "role": known.why[device]},
        ),
        confidence=0.9 if meant else 0.7,
        point=mount.point,
        source=mount.source,
        device=device,
        why=known.why[device],
    )
