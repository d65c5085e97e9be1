"""Parts by serial number, versions and gauges: what was seen, and nothing for what was not."""

import msgspec

from agent.daemon import inventory
from agent.daemon.gpus import GpuRow
from aggregator.wire import Part
from collectors.bmc.controller import Bmc
from collectors.facts.observation import Cause, Missing, Observation
from collectors.gpu.firmware import Bios
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.modules import DriverModules, Module
from collectors.gpu.nvml import GpuSnapshot
from collectors.host.nvme import Drive, NvmeDrives
from collectors.network.neighbours import Neighbour, Neighbours
from collectors.network.ports import Port, Ports
from collectors.network.subnet import SubnetManagers

SEEN: dict[type[Observation], Observation] = {
    GpuSnapshot: GpuSnapshot(driver="580.95.05", nvml="13.580.95.05"),
    GpuHealth: GpuHealth(
        gpus=(
            GpuReading(
                index=0,
                pci="0000:1b:00.0",
                serial="1651123000042",
                name="NVIDIA H100",
                vbios="96.1",
            ),
            GpuReading(index=1, pci="0000:2c:00.0"),
        )
    ),
    NvmeDrives: NvmeDrives(
        drives=(Drive(address="0000:05:00.0", serial="S6EWNA0R", model="PM9A3"),)
    ),
    DriverModules: DriverModules(
        modules=(Module(name="nvidia", state="Live", version="580.95.05"),)
    ),
    Bios: Bios(bios_version="2.4.1"),
    Bmc: Bmc(firmware="12.86"),
    Ports: Ports(
        ports=(
            Port(device="mlx5_0", port=1, rate_gbps=400.0, board_id="MT_0838", fw_ver="28.42.1000"),
            Port(device="mlx5_9", port=1, rate_gbps=25.0, virtual=True),
        )
    ),
}


def newest(shape: type[Observation]) -> Observation | Missing:
    return SEEN.get(shape) or unseen(shape)


def unseen(shape: type[Observation]) -> Missing:
    return Missing(what=shape.__name__, cause=Cause.TIMEOUT, detail="no answer")


def test_what_was_seen_is_told() -> None:
    """Parts have serial, slot, model and firmware; a GPU that gives no serial is no part."""
    rows = (
        GpuRow(index=0, utilisation_percent=97, used_bytes=5 << 30, margin_c=21, power_w=512.5),
    )
    found = inventory.taken(newest, rows)

    assert (
        inventory.Inventory(
            parts=(
                Part(
                    kind="gpu",
                    serial="1651123000042",
                    slot="0000:1b:00.0",
                    model="NVIDIA H100",
                    firmware="96.1",
                ),
                Part(kind="disk", serial="S6EWNA0R", slot="0000:05:00.0", model="PM9A3"),
            ),
            versions={
                "driver": "580.95.05",
                "nvml": "13.580.95.05",
                "module.nvidia": "580.95.05",
                "bios": "2.4.1",
                "bmc": "12.86",
                "nic.MT_0838": "28.42.1000",
            },
            gauges={
                "gpu0.utilisation_percent": 97.0,
                "gpu0.memory_used_bytes": float(5 << 30),
                "gpu0.margin_c": 21.0,
                "gpu0.power_w": 512.5,
                "mlx5_0.1.rate_gbps": 400.0,
            },
        )
        == found
    )


def test_a_port_is_told_with_its_switch_and_rail() -> None:
    """A port whose GUID and neighbour are known is a part; one that serves pings is a gauge."""
    hop = Neighbour(
        port="mlx5_0/1",
        port_guid="0x506b4b0300a1b2c3",
        rail=0,
        switch="leaf-03",
        switch_guid="0x506b4b0300a1c0f2",
        switch_port=17,
    )
    seen: dict[type[Observation], Observation] = {
        Ports: SEEN[Ports],
        Neighbours: Neighbours(neighbours=(hop, msgspec.structs.replace(hop, port_guid=None))),
        SubnetManagers: SubnetManagers(serving=("mlx5_0",)),
    }
    found = inventory.taken(lambda shape: seen.get(shape) or unseen(shape), ())

    part = Part(
        kind="port",
        serial="0x506b4b0300a1b2c3",
        slot="mlx5_0/1",
        model="MT_0838",
        firmware="28.42.1000",
        rail=0,
        switch="leaf-03",
        switch_port=17,
    )
    assert ((part,), 1.0) == (found.parts, found.gauges.get("mlx5_0.ibping_server"))


def test_what_was_not_seen_is_left_out() -> None:
    """Of a blind node, and of a GPU that reports nothing, there is neither 0 nor an empty text."""
    found = inventory.taken(unseen, (GpuRow(index=0),))

    assert inventory.Inventory() == found
