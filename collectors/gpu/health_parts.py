"""The parts of a GPU's health as NVML tells them; None is "not reported" in every field.

Numbers that NVML names by its header (states, modes, reasons) stay its raw numbers: the names of
the bindings change their meaning between releases.
"""

from typing import Annotated

import msgspec

Bits = Annotated[int, msgspec.Meta(ge=0)]


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of one kind of one GPU."""


class Memory(Part, frozen=True, kw_only=True):
    """Device memory; the driver's own reserve is not part of `used_bytes`."""

    total_bytes: int | None = None
    used_bytes: int | None = None
    reserved_bytes: int | None = None


class EccCounts(Part, frozen=True, kw_only=True):
    """ECC errors of all memories together, corrected and not."""

    corrected: int | None = None
    uncorrected: int | None = None


class Ecc(Part, frozen=True, kw_only=True):
    """ECC: `volatile` since the driver was loaded, `aggregate` of the board's life.

    `sram_threshold_exceeded` is the GPU's own word that its SRAM had too many uncorrected errors.
    """

    enabled: bool | None = None
    enabled_after_reset: bool | None = None
    volatile: EccCounts = EccCounts()
    aggregate: EccCounts = EccCounts()
    sram_volatile: EccCounts = EccCounts()
    sram_aggregate: EccCounts = EccCounts()
    sram_threshold_exceeded: bool | None = None


class Remap(Part, frozen=True, kw_only=True):
    """Memory rows replaced by spare ones, and how many banks have how many spares left.

    `spares_max` to `spares_none` count banks; their sum is the product's number of banks.
    """

    corrected: int | None = None
    uncorrected: int | None = None
    pending: bool | None = None
    failed: bool | None = None
    spares_max: int | None = None
    spares_high: int | None = None
    spares_partial: int | None = None
    spares_low: int | None = None
    spares_none: int | None = None


class Retired(Part, frozen=True, kw_only=True):
    """Retired pages, of GPUs before Ampere."""

    single_bit: int | None = None
    double_bit: int | None = None
    pending: bool | None = None


class Heat(Part, frozen=True, kw_only=True):
    """Temperatures in C.

    Newer GPUs (Ada, Hopper on) tell `margin_c`, the degrees left until they slow down of
    themselves, and their limits in the same measure: `slowdown_margin_c` -2 means that the hardware
    slows down at a margin of -2. Older ones tell limits as temperatures.
    """

    gpu_c: int | None = None
    memory_c: int | None = None
    margin_c: int | None = None
    gpu_max_c: int | None = None
    slowdown_c: int | None = None
    shutdown_c: int | None = None
    memory_max_c: int | None = None
    gpu_max_margin_c: int | None = None
    slowdown_margin_c: int | None = None
    shutdown_margin_c: int | None = None
    memory_max_margin_c: int | None = None


class Power(Part, frozen=True, kw_only=True):
    """Power in mW: the draw, the limit in force, what the limit is by default and can be set to.

    `average_mw` is over 1 s, `instant_mw` of this moment; `draw_mw` is one of both by product.
    """

    draw_mw: int | None = None
    average_mw: int | None = None
    instant_mw: int | None = None
    limit_mw: int | None = None
    default_limit_mw: int | None = None
    min_limit_mw: int | None = None
    max_limit_mw: int | None = None


class Clocks(Part, frozen=True, kw_only=True):
    """Clocks in MHz, and why they are not higher.

    `reasons` are the bits of nvml.h: 0x1 idle, 0x2 set by an application, 0x4 power cap, 0x8
    hardware slowdown, 0x10 sync boost, 0x20 heat by software, 0x40 heat by hardware, 0x80 power
    brake, 0x100 display. The times count the ns spent so since the driver was loaded.
    """

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    graphics_mhz: int | None = None
    max_sm_mhz: int | None = None
    max_memory_mhz: int | None = None
    max_graphics_mhz: int | None = None
    reasons: Bits | None = None
    power_cap_ns: int | None = None
    sync_boost_ns: int | None = None
    software_thermal_ns: int | None = None
    hardware_thermal_ns: int | None = None
    power_brake_ns: int | None = None


class Pcie(Part, frozen=True, kw_only=True):
    """The link to the host; `max_*` is what GPU and slot can do together, `gpu_max_*` the GPU.

    The generation drops while a GPU idles, and `replays` counts from the driver's load.
    """

    generation: int | None = None
    max_generation: int | None = None
    gpu_max_generation: int | None = None
    width: int | None = None
    max_width: int | None = None
    replays: int | None = None


class Link(Part, frozen=True, kw_only=True):
    """One NVLink.

    `remote` is nvml.h's kind of the other end: 0 GPU, 1 NPU, 2 NVSwitch, 255 unknown. `errors` are
    counters by name, of which only those that are not 0 are there; up to NVLink 4 `replays`,
    `recoveries`, `crc_flits`, `crc_data`, later `malformed_packets`, `buffer_overruns`,
    `receive_errors`, `remote_receive_errors`, `general_receive_errors`, `integrity_errors`,
    `transmit_discards`, `recoveries_successful`, `recoveries_failed`, `recovery_events`,
    `effective_errors`, `symbol_errors`.
    """

    link: int
    active: bool | None = None
    remote: int | None = None
    errors: dict[str, int] = {}


class Nvlink(Part, frozen=True, kw_only=True):
    """All NVLinks of a GPU; `count` 0 or None where it has none.

    `replays` to `ecc_data` are sums over all links, up to NVLink 4.
    """

    count: int | None = None
    version: int | None = None
    speed_mbps: int | None = None
    replays: int | None = None
    recoveries: int | None = None
    crc_flits: int | None = None
    crc_data: int | None = None
    ecc_data: int | None = None
    links: tuple[Link, ...] = ()


class Modes(Part, frozen=True, kw_only=True):
    """How the GPU is set up.

    `compute` by nvml.h: 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process.
    """

    persistence: bool | None = None
    compute: int | None = None
    mig: bool | None = None
    mig_after_reset: bool | None = None
    gsp: bool | None = None
    gsp_version: str | None = None


class Fabric(Part, frozen=True, kw_only=True):
    """The GPU's place in an NVSwitch fabric, by nvml.h's numbers.

    `state`: 0 not supported, 1 not started, 2 in progress, 3 completed; `status` is NVML's code
    once completed. `health_mask` has groups of two bits (0 not told, 1 true, 2 false); bits 0-1
    degraded bandwidth, 2-3 route recovery, 4-5 route unhealthy, 6-7 access timeout recovery; bits
    8-11 a wrong configuration (0 not told, 1 none). `health`: 0 not told, 1 healthy, 2 unhealthy,
    3 limited.
    """

    state: int | None = None
    status: int | None = None
    clique: int | None = None
    cluster: str | None = None
    health_mask: Bits | None = None
    health: int | None = None
