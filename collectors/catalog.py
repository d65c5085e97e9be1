"""Every source of observations: who collects which shape."""

from collections.abc import Awaitable, Callable
from typing import Any, get_args, get_type_hints

import msgspec

from collectors.bmc import controller, events, sensors
from collectors.facts.observation import Missing, Observation
from collectors.gpu import (
    bus,
    device_nodes,
    fabric_manager,
    firmware,
    health,
    modules,
    nvml,
    pcie,
    peermem,
)
from collectors.host import (
    blocked,
    clock,
    descriptors,
    disks,
    governor,
    holders,
    lustre,
    memory,
    mounts,
    nfs,
    nvme,
    open_files,
    processes,
    raid,
)
from collectors.jobs import expected, running
from collectors.kernel import last_boot, log
from collectors.network import cards, ibping, interfaces, ping, ports

Collect = Callable[..., Awaitable[Observation | Missing]]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One collector; an `active` one sends packets, and is held back by a failed stage.

    It is called with the node, what is wanted, and the observations of `after`, in their order.
    """

    shape: type[Observation]
    collect: Collect
    active: bool = False
    after: tuple[type[Observation], ...] = ()


def source(collect: Collect, *, active: bool = False) -> Source:
    """Read the shape off the collector's return type, `Shape | Missing`.

    Its parameters after the first two, `Shape | Missing` as well, are what it is told beforehand.
    """
    hints = get_type_hints(collect)
    shape = _shape(hints.pop("return"))
    after = tuple(_shape(hint) for hint in tuple(hints.values())[2:])
    return Source(shape=shape, collect=collect, active=active, after=after)


def _shape(hint: Any) -> type[Observation]:  # noqa: ANN401 - a type expression
    found: type[Observation] = next(a for a in get_args(hint) or (hint,) if a is not Missing)
    return found


SOURCES: tuple[Source, ...] = (
    source(processes.collect),
    source(blocked.collect),
    source(holders.collect),
    source(running.collect),
    source(expected.collect),
    source(nvml.collect),
    source(health.collect),
    source(firmware.collect),
    source(memory.collect),
    source(descriptors.collect),
    source(clock.collect),
    source(governor.collect),
    source(mounts.collect),
    source(nfs.collect),
    source(lustre.collect),
    source(disks.collect),
    source(nvme.collect),
    source(raid.collect),
    source(open_files.collect),
    source(log.collect),
    source(last_boot.collect),
    source(bus.collect),
    source(modules.collect),
    source(device_nodes.collect),
    source(pcie.collect),
    source(peermem.collect),
    source(fabric_manager.collect),
    source(controller.collect),
    source(sensors.collect),
    source(events.collect),
    source(cards.collect),
    source(ports.collect),
    source(interfaces.collect),
    source(ibping.collect, active=True),
    source(ping.collect, active=True),
)


def by_shape() -> dict[type[Observation], Source]:
    """Return the sources by what they collect."""
    return {entry.shape: entry for entry in SOURCES}
