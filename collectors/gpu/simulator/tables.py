"""The tables of scenarios and models as people write them; an absent key means "not supported"."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator

Count = Annotated[int, Field(ge=0, lt=1 << 64)]
Celsius = Annotated[int, Field(ge=-128, le=255)]
Code = Annotated[int, Field(ge=0, le=999)]
Link = Annotated[str, Field(pattern=r"^\d{1,2}$")]
Address = Annotated[str, Field(pattern=r"^[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.0$")]


def _text(value: Any) -> str:  # noqa: ANN401 - whatever TOML holds
    """Return text; `{ hex = "ff3132" }` is bytes that no text is, as damaged memory gives them."""
    if isinstance(value, dict) and value.keys() == {"hex"} and isinstance(value["hex"], str):
        return bytes.fromhex(value["hex"]).decode("utf-8", "surrogateescape")
    if isinstance(value, str) and value.isprintable():
        return value
    raise ValueError('expected text, or { hex = "ff3132" } for bytes that are none')


Text = Annotated[str, PlainValidator(_text)]


class Table(BaseModel):
    """A table of the file: unknown keys and values of another type are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Call(Table):
    """How one function fails: the code that it returns, and how long it blocks (-1: for ever)."""

    returns: Code | None = None
    blocks_s: float | None = Field(default=None, ge=-1)


class Pcie(Table):
    """The link to the host."""

    generation: Count | None = None
    max_generation: Count | None = None
    device_max_generation: Count | None = None
    width: Count | None = None
    max_width: Count | None = None
    replays: Count | None = None
    switch: Count | None = None


class Temperature(Table):
    """Absolute temperatures, and for newer GPUs margins: degrees to go until a limit."""

    gpu_c: Celsius | None = None
    margin_c: Celsius | None = None
    memory_c: Celsius | None = None
    shutdown_c: Celsius | None = None
    slowdown_c: Celsius | None = None
    gpu_max_c: Celsius | None = None
    memory_max_c: Celsius | None = None
    shutdown_margin_c: Celsius | None = None
    slowdown_margin_c: Celsius | None = None
    gpu_max_margin_c: Celsius | None = None
    memory_max_margin_c: Celsius | None = None


class Power(Table):
    """Draw and limits."""

    draw_mw: Count | None = None
    average_mw: Count | None = None
    instant_mw: Count | None = None
    limit_mw: Count | None = None
    default_limit_mw: Count | None = None
    min_limit_mw: Count | None = None
    max_limit_mw: Count | None = None


class Clocks(Table):
    """Clocks, the bits that say why they are lower than asked for, and the time spent in each."""

    graphics_mhz: Count | None = None
    sm_mhz: Count | None = None
    memory_mhz: Count | None = None
    video_mhz: Count | None = None
    max_graphics_mhz: Count | None = None
    max_sm_mhz: Count | None = None
    max_memory_mhz: Count | None = None
    max_video_mhz: Count | None = None
    reasons: Count | None = None
    power_cap_us: Count | None = None
    sync_boost_us: Count | None = None
    software_thermal_us: Count | None = None
    hardware_thermal_us: Count | None = None
    power_brake_us: Count | None = None


class Memory(Table):
    """Device memory; what is free follows."""

    total_bytes: Count | None = None
    reserved_bytes: Count | None = None
    used_bytes: Count | None = None


class EccCounts(Table):
    """ECC errors of one lifetime. GPUs before Ampere count `sram_uncorrected` in one number."""

    sram_corrected: Count | None = None
    sram_parity: Count | None = None
    sram_secded: Count | None = None
    sram_uncorrected: Count | None = None
    dram_corrected: Count | None = None
    dram_uncorrected: Count | None = None


class SramSources(Table):
    """Where uncorrectable SRAM errors came from, and whether they are too many."""

    threshold_exceeded: bool | None = None
    l2: Count | None = None
    sm: Count | None = None
    pcie: Count | None = None
    microcontroller: Count | None = None
    other: Count | None = None


class Ecc(Table):
    """ECC of memory; `volatile` since the driver was loaded, `aggregate` of the board's life."""

    enabled: Count | None = None
    pending: Count | None = None
    volatile: EccCounts | None = None
    aggregate: EccCounts | None = None
    sram: SramSources | None = None


class Repair(Table):
    """Repairs that wait for a reset."""

    channel_pending: Count | None = None
    tpc_pending: Count | None = None


class Remap(Table):
    """Rows remapped, and how many banks have all (max) down to none of their spares left."""

    corrected: Count | None = None
    uncorrected: Count | None = None
    pending: Count | None = None
    failure: Count | None = None
    max: Count | None = None
    high: Count | None = None
    partial: Count | None = None
    low: Count | None = None
    none: Count | None = None
    corrected_inactive: Count | None = None
    uncorrected_inactive: Count | None = None
    banks_active: Count | None = None
    banks_inactive: Count | None = None
    bank_spares_max: Count | None = None
    bank_spares_none: Count | None = None
    bank_pending: Count | None = None


class Retired(Table):
    """Addresses of retired pages; GPUs before Ampere."""

    single_bit: list[Count] | None = None
    double_bit: list[Count] | None = None
    pending: Count | None = None


class Mode(Table):
    """A mode that is changed by a reset."""

    current: Count | None = None
    pending: Count | None = None


class Gsp(Table):
    """The GPU's system processor; its firmware is of the driver's version unless stated."""

    enabled: Count | None = None
    default: Count | None = None
    version: Text | None = None
