"""nvmlDeviceGetFieldValues: many numbers in one call, each with a code and a type of its own."""

import ctypes
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from collectors.gpu.simulator.functions.answer import (
    INT,
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
    OK,
    POINTER,
    Failed,
    Gpu,
    Values,
    device,
)
from collectors.gpu.simulator.functions.links import (
    checked,
    is_up,
    link_errors,
    port_counter,
)
from collectors.gpu.simulator.symbols import PORT_COUNTERS

if TYPE_CHECKING:
    from collectors.gpu.simulator.library import Simulator

# nvml.h, nvmlFieldValue_t: fieldId, scopeId, timestamp, latencyUsec, valueType, nvmlReturn, value.
# Written as bytes: the binding's own structure takes 2 us for each of its members, and hundreds of
# fields are asked at once.
ENTRY = struct.Struct("=IIqqII8s")
# nvml.h: nvmlValueType_t, and which bits of the union carry it.
UNSIGNED, LONG, SIGNED, SIGNED_LONG = 1, 3, 5, 4
MASKS = dict.fromkeys((UNSIGNED, SIGNED), (1 << 32) - 1)
MASKS |= dict.fromkeys((LONG, SIGNED_LONG), (1 << 64) - 1)

Read = Callable[[Values, int], int]


class Field(NamedTuple):
    """A field: its type, and how it is read of a GPU and a scope (the link, where it has one)."""

    kind: int
    read: Read


def _key(kind: int, key: str, factor: int = 1) -> Field:
    return Field(kind, lambda values, _scope: int(values[key]) * factor)


def _link(key: str) -> Field:
    def read(values: Values, link: int) -> int:
        checked(values, link)
        return int(values[key])

    return Field(UNSIGNED, read)


def _state(values: Values, link: int) -> int:
    checked(values, link)
    return is_up(values, link)


def _errors(*names: str) -> Field:
    return Field(LONG, lambda values, _scope: link_errors(values, *names))


def _port(name: str) -> Field:
    return Field(LONG, lambda values, link: port_counter(values, link, name))


FIELDS: dict[int, Field] = {
    38: _errors("crc_flits"),
    45: _errors("crc_data"),
    52: _errors("replays"),
    59: _errors("recoveries"),
    # nvml.h counts these in ns, nvidia-smi shows us.
    74: _key(LONG, "clocks.power_cap_us", 1000),
    76: _key(LONG, "clocks.sync_boost_us", 1000),
    82: _key(UNSIGNED, "temperature.memory_c"),
    91: _key(UNSIGNED, "nvlink.count"),
    94: _key(UNSIGNED, "pcie.replays"),
    142: _key(UNSIGNED, "remap.corrected"),
    143: _key(UNSIGNED, "remap.uncorrected"),
    144: _key(UNSIGNED, "remap.pending"),
    145: _key(UNSIGNED, "remap.failure"),
    160: _errors("ecc_data"),
    161: _errors("replays"),
    162: _errors("recoveries"),
    163: _errors("crc_flits", "crc_data"),
    164: _link("nvlink.speed_mbps"),
    165: Field(UNSIGNED, _state),
    166: _link("nvlink.version"),
    185: _key(UNSIGNED, "power.average_mw"),
    186: _key(UNSIGNED, "power.instant_mw"),
    187: _key(UNSIGNED, "power.min_limit_mw"),
    188: _key(UNSIGNED, "power.max_limit_mw"),
    189: _key(UNSIGNED, "power.default_limit_mw"),
    190: _key(UNSIGNED, "power.limit_mw"),
    192: _key(UNSIGNED, "power.limit_mw"),
    193: _key(SIGNED, "temperature.shutdown_margin_c"),
    194: _key(SIGNED, "temperature.slowdown_margin_c"),
    195: _key(SIGNED, "temperature.memory_max_margin_c"),
    196: _key(SIGNED, "temperature.gpu_max_margin_c"),
    **{number: _port(name) for number, name in PORT_COUNTERS.items()},
    230: _key(UNSIGNED, "recovery_action"),
    269: _key(LONG, "clocks.software_thermal_us", 1000),
    270: _key(LONG, "clocks.hardware_thermal_us", 1000),
    271: _key(LONG, "clocks.power_brake_us", 1000),
    301: _key(UNSIGNED, "remap.corrected_inactive"),
    302: _key(UNSIGNED, "remap.uncorrected_inactive"),
    303: _key(UNSIGNED, "remap.banks_active"),
    304: _key(UNSIGNED, "remap.banks_inactive"),
    305: _key(UNSIGNED, "remap.bank_spares_max"),
    306: _key(UNSIGNED, "remap.bank_spares_none"),
    307: _key(UNSIGNED, "remap.bank_pending"),
}


@device("nvmlDeviceGetFieldValues", INT, POINTER)
def _fields(simulator: "Simulator", gpu: Gpu, count: int, pointer: int) -> None:
    if not pointer or count < 1:
        raise Failed(INVALID_ARGUMENT)
    now_us = time.time_ns() // 1000
    asked = ctypes.string_at(pointer, ENTRY.size * count)
    answer = bytearray(asked)
    for place, (number, scope, *_, old, _, raw) in enumerate(ENTRY.iter_unpack(asked)):
        kind, code, value = old, OK, raw
        try:
            kind, told = _one(simulator, gpu.values, number, scope)
            value = (told & MASKS[kind]).to_bytes(8, "little")
        except Failed as failed:
            code = failed.code
        entry = (number, scope, now_us, 0, kind, code, value)
        ENTRY.pack_into(answer, place * ENTRY.size, *entry)
    ctypes.memmove(pointer, bytes(answer), len(answer))


def _one(simulator: "Simulator", values: Values, number: int, scope: int) -> tuple[int, int]:
    """Return type and value of one field; what the scenario says of it goes before the model."""
    if simulator.highest_field is not None and number > simulator.highest_field:
        raise Failed(INVALID_ARGUMENT)
    field = FIELDS.get(number)
    stated = _stated(values, number, scope) if values.has_fields else {}
    if code := stated.get("returns"):
        raise Failed(code)
    if "value" in stated:
        kind = field.kind if field else LONG
        return (SIGNED_LONG if stated["value"] < 0 and kind == LONG else kind), stated["value"]
    if field is None:
        raise Failed(NOT_SUPPORTED)
    return field.kind, field.read(values, scope)


def _stated(values: Values, number: int, scope: int) -> dict[str, Any]:
    for name in (f"field.{number}.{scope}", f"field.{number}"):
        found = {
            key: values[f"{name}.{key}"]
            for key in ("returns", "value")
            if f"{name}.{key}" in values
        }
        if found:
            return found
    return {}
