"""The table of a GPU, for scenarios and models alike."""

from typing import Annotated

from pydantic import Field

from collectors.gpu.simulator.tables import (
    Address,
    Call,
    Clocks,
    Code,
    Count,
    Ecc,
    Gsp,
    Link,
    Memory,
    Mode,
    Pcie,
    Power,
    Remap,
    Repair,
    Retired,
    Table,
    Temperature,
    Text,
)


class NvlinkLink(Table):
    """One link: whether it is up, and its counters; a bit error rate is the number NVML packs."""

    active: bool | None = None
    replays: Count | None = None
    recoveries: Count | None = None
    crc_flits: Count | None = None
    crc_data: Count | None = None
    ecc_data: Count | None = None
    malformed_packets: Count | None = None
    buffer_overruns: Count | None = None
    receive_errors: Count | None = None
    remote_receive_errors: Count | None = None
    general_receive_errors: Count | None = None
    integrity_errors: Count | None = None
    transmit_discards: Count | None = None
    recoveries_successful: Count | None = None
    recoveries_failed: Count | None = None
    recovery_events: Count | None = None
    raw_ber_lane0: Count | None = None
    raw_ber_lane1: Count | None = None
    raw_ber: Count | None = None
    effective_errors: Count | None = None
    effective_ber: Count | None = None
    symbol_errors: Count | None = None
    symbol_ber: Count | None = None


class Nvlink(Table):
    """All links. Up to NVLink 4 there are error counters, from NVLink 5 on port counters."""

    count: Annotated[int, Field(ge=1, le=36)] | None = None
    version: Count | None = None
    speed_mbps: Count | None = None
    remote: Count | None = None
    remote_pci: Address | None = None
    error_counters: bool | None = None
    port_counters: bool | None = None
    link: dict[Link, NvlinkLink] | None = None


class Fabric(Table):
    """The GPU's place in the NVSwitch fabric, by NVML's numbers; state 3 is completed."""

    state: Count | None = None
    status: Code | None = None
    clique: Count | None = None
    cluster: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    health_mask: Count | None = None
    health_summary: Count | None = None


class Platform(Table):
    """Where the GPU sits in a rack; the GUID is binary and seldom text."""

    ib_guid: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    chassis_serial: Text | None = None
    slot: Annotated[int, Field(ge=0, le=255)] | None = None
    tray: Annotated[int, Field(ge=0, le=255)] | None = None
    host: Annotated[int, Field(ge=0, le=255)] | None = None
    peer_type: Annotated[int, Field(ge=0, le=255)] | None = None


class Process(Table):
    """A process with a context; without `used_bytes` the driver does not say."""

    pid: Annotated[int, Field(ge=1, lt=1 << 32)]
    used_bytes: Count | None = None
    name: Text | None = None
    graphics: bool = False
    gpu_instance: Annotated[int, Field(ge=0, lt=1 << 32)] = 0xFFFF_FFFF
    compute_instance: Annotated[int, Field(ge=0, lt=1 << 32)] = 0xFFFF_FFFF


class FieldValue(Table):
    """What nvmlDeviceGetFieldValues gives for one field id, above what the model says."""

    value: int | None = Field(default=None, ge=-(1 << 63), lt=1 << 63)
    returns: Code | None = None


class Gpu(Table):
    """One GPU, or all (`"*"`): only what differs from the model is written."""

    lost: bool | None = None
    name: Text | None = None
    serial: Text | None = None
    uuid: Text | None = None
    vbios: Text | None = None
    inforom: Text | None = None
    inforom_valid: bool | None = None
    board_part_number: Text | None = None
    pci: Address | None = None
    pci_device_id: Count | None = None
    pci_subsystem_id: Count | None = None
    minor: Count | None = None
    module_id: Annotated[int, Field(ge=0, le=255)] | None = None
    numa: Count | None = None
    peer_access: Annotated[int, Field(ge=0, le=6)] | None = None
    persistence: Count | None = None
    compute_mode: Count | None = None
    accounting: Count | None = None
    performance_state: Count | None = None
    utilization: Annotated[int, Field(ge=0, le=100)] | None = None
    memory_utilization: Annotated[int, Field(ge=0, le=100)] | None = None
    recovery_action: Count | None = None
    pcie: Pcie | None = None
    temperature: Temperature | None = None
    power: Power | None = None
    clocks: Clocks | None = None
    memory: Memory | None = None
    ecc: Ecc | None = None
    repair: Repair | None = None
    remap: Remap | None = None
    retired: Retired | None = None
    mig: Mode | None = None
    gsp: Gsp | None = None
    nvlink: Nvlink | None = None
    fabric: Fabric | None = None
    platform: Platform | None = None
    process: list[Process] | None = None
    field: dict[Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,2})?$")], FieldValue] | None = None
    call: dict[str, Call] | None = None
