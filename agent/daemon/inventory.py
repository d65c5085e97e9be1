"""What a node is made of, for the aggregator: parts by serial number, versions, gauges."""

import math
from collections.abc import Callable, Iterator

import msgspec

from agent.daemon.gpus import GpuRow
from aggregator.wire import Part
from collectors.bmc.controller import Bmc
from collectors.facts.observation import Missing, Observation
from collectors.gpu.firmware import Bios
from collectors.gpu.health import GpuHealth
from collectors.gpu.modules import DriverModules
from collectors.gpu.nvml import GpuSnapshot
from collectors.host.nvme import NvmeDrives
from collectors.network.neighbours import Neighbours
from collectors.network.ports import Ports
from collectors.network.subnet import SubnetManagers

Newest = Callable[[type[Observation]], Observation | Missing]
MOST_PARTS, LONGEST = 1024, 128


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """The newest of it; what was not seen is left out, and never an empty text or 0.

    Gauges are named by part, quantity and unit: `gpu3.power_w`, `mlx5_0.1.rate_gbps`.
    """

    parts: tuple[Part, ...] = ()
    versions: dict[str, str] = {}
    gauges: dict[str, float] = {}


def taken(newest: Newest, rows: tuple[GpuRow, ...]) -> Inventory:
    """Return the inventory that the newest observations tell of."""
    return Inventory(
        parts=tuple(_parts(newest))[:MOST_PARTS],
        versions={name: said[:LONGEST] for name, said in _versions(newest) if said},
        gauges={
            name: float(value)
            for name, value in (*_gpus(rows), *_ports(newest))
            if value is not None and math.isfinite(value)
        },
    )


def _parts(newest: Newest) -> Iterator[Part]:
    health, drives = newest(GpuHealth), newest(NvmeDrives)
    for gpu in health.answering() if isinstance(health, GpuHealth) else ():
        if gpu.serial:
            yield _part("gpu", gpu.serial, gpu.pci, gpu.name, gpu.vbios)
    for drive in drives.drives if isinstance(drives, NvmeDrives) else ():
        if drive.serial:
            yield _part("disk", drive.serial, drive.address, drive.model, None)
    yield from _ports_as_parts(newest)


def _ports_as_parts(newest: Newest) -> Iterator[Part]:
    hops, ports = newest(Neighbours), newest(Ports)
    known = {port.name: port for port in ports.ports} if isinstance(ports, Ports) else {}
    for hop in hops.neighbours if isinstance(hops, Neighbours) else ():
        if hop.port_guid:
            port = known.get(hop.port)
            firmware = port.fw_ver if port else None
            model = port.board_id or port.hca_type if port else None
            part = _part("port", hop.port_guid, hop.port, model, firmware)
            yield msgspec.structs.replace(
                part,
                rail=hop.rail if hop.rail >= 0 else None,
                switch=hop.switch[:LONGEST],
                switch_port=hop.switch_port,
            )


def _part(
    kind: str, serial: str, slot: str | None, model: str | None, firmware: str | None
) -> Part:
    return Part(
        kind=kind,
        serial=serial[:LONGEST],
        slot=(slot or "?")[:LONGEST],
        model=model and model[:LONGEST],
        firmware=firmware and firmware[:LONGEST],
    )


def _versions(newest: Newest) -> Iterator[tuple[str, str | None]]:
    snapshot, modules = newest(GpuSnapshot), newest(DriverModules)
    bios, bmc, ports = newest(Bios), newest(Bmc), newest(Ports)
    if isinstance(snapshot, GpuSnapshot):
        yield "driver", snapshot.driver
        yield "nvml", snapshot.nvml
    for module in modules.modules if isinstance(modules, DriverModules) else ():
        yield f"module.{module.name}"[:LONGEST], module.version
    if isinstance(bios, Bios):
        yield "bios", bios.bios_version
    if isinstance(bmc, Bmc):
        yield "bmc", bmc.firmware
    for port in ports.ports if isinstance(ports, Ports) else ():
        yield f"nic.{port.board_id or port.hca_type or port.device}"[:LONGEST], port.fw_ver


def _gpus(rows: tuple[GpuRow, ...]) -> Iterator[tuple[str, float | None]]:
    for row in rows:
        name = f"gpu{row.index}"
        yield f"{name}.utilisation_percent", row.utilisation_percent
        yield f"{name}.memory_used_bytes", row.used_bytes
        yield f"{name}.margin_c", row.margin_c
        yield f"{name}.power_w", row.power_w


def _ports(newest: Newest) -> Iterator[tuple[str, float | None]]:
    ports = newest(Ports)
    for port in ports.ports if isinstance(ports, Ports) else ():
        if not port.virtual:
            yield f"{port.device[:64]}.{port.port}.rate_gbps", port.rate_gbps
    managers = newest(SubnetManagers)
    for device in managers.serving if isinstance(managers, SubnetManagers) else ():
        yield f"{device[:64]}.ibping_server", 1.0
