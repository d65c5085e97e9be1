"""Every source of observations: who collects which shape."""

from collections.abc import Awaitable, Callable
from typing import Any, get_args, get_type_hints

import msgspec

from collectors.bmc import controller, events, sensors
from collectors.facts.observation import Missing, Observation
from collectors.gpu import (
    bus,
    caps,
    device_nodes,
    fabric_manager,
    firmware,
    health,
    modules,
    nvml,
    packages,
    pcie,
    peer_paths,
    peermem,
    switches,
)
from collectors.host import (
    blocked,
    changes,
    clock,
    descriptors,
    disks,
    governor,
    held,
    holders,
    lustre,
    memlock,
    memory,
    mounts,
    nfs,
    nvme,
    open_files,
    processes,
    raid,
    storage_clients,
)
from collectors.jobs import (
    expected,
    job_logs,
    lost_steps,
    maintenance,
    nccl,
    node_reason,
    ranks,
    running,
)
from collectors.kernel import last_boot, log
from collectors.network import (
    bandwidth,
    cards,
    counters,
    devlink,
    elsewhere,
    fec,
    fec_errors,
    full_mtu,
    gids,
    ibping,
    interface_settings,
    interfaces,
    links,
    neighbours,
    optics,
    ping,
    ports,
    rdma_nodes,
    routes,
    statistics,
    subnet,
    tcp,
)

Collect = Callable[..., Awaitable[Observation | Missing]]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One collector; an `active` one sends packets, and is held back by a failed stage.

    It is called with the node, what is wanted, and the observations of `after`, in their order.
    `period_s` is how often the daemon looks; what is older than two of them is stale.
    """

    shape: type[Observation]
    collect: Collect
    active: bool = False
    after: tuple[type[Observation], ...] = ()
    period_s: float = 30.0


def source(collect: Collect, *, active: bool = False, period_s: float = 30.0) -> Source:
    """Read the shape off the collector's return type, `Shape | Missing`.

    Its parameters after the first two, `Shape | Missing` as well, are what it is told beforehand.
    """
    hints = get_type_hints(collect)
    shape = _shape(hints.pop("return"))
    after = tuple(_shape(hint) for hint in tuple(hints.values())[2:])
    return Source(shape=shape, collect=collect, active=active, after=after, period_s=period_s)


def _shape(hint: Any) -> type[Observation]:  # noqa: ANN401 - a type expression
    found: type[Observation] = next(a for a in get_args(hint) or (hint,) if a is not Missing)
    return found


# GPUs, links, counters and the kernel's word on them; what is slow to ask; what changes with an
# update.
FAST_S, MINUTE_S, FIVE_MINUTES_S, SLOW_S = 10.0, 60.0, 300.0, 600.0

SOURCES: tuple[Source, ...] = (
    source(processes.collect),
    source(blocked.collect),
    source(held.collect),
    source(holders.collect),
    source(running.collect),
    source(expected.collect, period_s=SLOW_S),
    source(ranks.collect),
    source(nccl.collect, period_s=MINUTE_S),
    source(elsewhere.collect),
    source(job_logs.collect, period_s=FAST_S),
    source(node_reason.collect, period_s=SLOW_S),
    source(lost_steps.collect, period_s=MINUTE_S),
    source(maintenance.collect),
    source(nvml.collect, period_s=FAST_S),
    source(health.collect, period_s=FAST_S),
    source(firmware.collect, period_s=SLOW_S),
    source(caps.collect),
    source(memory.collect),
    source(descriptors.collect),
    source(clock.collect, period_s=MINUTE_S),
    source(governor.collect, period_s=SLOW_S),
    source(mounts.collect),
    source(nfs.collect),
    source(lustre.collect),
    source(storage_clients.collect),
    source(disks.collect),
    source(nvme.collect, period_s=SLOW_S),
    source(changes.collect, period_s=SLOW_S),
    source(raid.collect, period_s=MINUTE_S),
    source(open_files.collect),
    source(log.collect, period_s=FAST_S),
    source(last_boot.collect, period_s=SLOW_S),
    source(bus.collect),
    source(modules.collect, period_s=SLOW_S),
    source(packages.collect, period_s=SLOW_S),
    source(device_nodes.collect),
    source(pcie.collect),
    source(peer_paths.collect, period_s=SLOW_S),
    source(peermem.collect, period_s=SLOW_S),
    source(fabric_manager.collect, period_s=SLOW_S),
    source(switches.collect, period_s=SLOW_S),
    source(controller.collect, period_s=MINUTE_S),
    source(sensors.collect, period_s=MINUTE_S),
    source(events.collect, period_s=MINUTE_S),
    source(cards.collect, period_s=SLOW_S),
    source(links.collect),
    source(rdma_nodes.collect, period_s=SLOW_S),
    source(ports.collect),
    source(counters.collect, period_s=FAST_S),
    source(statistics.collect, period_s=MINUTE_S),
    source(optics.collect, period_s=SLOW_S),
    source(fec.collect, period_s=SLOW_S),
    source(fec_errors.collect, period_s=SLOW_S),
    source(devlink.collect, period_s=SLOW_S),
    source(gids.collect, period_s=SLOW_S),
    source(interface_settings.collect, period_s=MINUTE_S),
    source(routes.collect, period_s=MINUTE_S),
    source(memlock.collect),
    source(interfaces.collect),
    source(ibping.collect, active=True, period_s=MINUTE_S),
    source(ping.collect, active=True, period_s=MINUTE_S),
    source(full_mtu.collect, active=True, period_s=MINUTE_S),
    source(tcp.collect, active=True, period_s=MINUTE_S),
    source(subnet.collect, active=True, period_s=FIVE_MINUTES_S),
    source(neighbours.collect, active=True, period_s=SLOW_S),
    source(bandwidth.collect, period_s=SLOW_S),
)


def by_shape() -> dict[type[Observation], Source]:
    """Return the sources by what they collect."""
    return {entry.shape: entry for entry in SOURCES}
