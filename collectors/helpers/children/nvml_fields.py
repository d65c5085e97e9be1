"""nvmlDeviceGetFieldValues: many numbers in one call, each with a code of its own."""

import ctypes
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

# nvml.h, nvmlFieldValue_t: fieldId, scopeId, timestamp, latencyUsec, valueType, nvmlReturn, value.
ENTRY = struct.Struct("=IIqqII8s")
# nvml.h, nvmlValueType_t: double, unsigned int, unsigned long, unsigned long long, long long, int,
# unsigned short.
TYPES = tuple(struct.Struct(f"={kind}") for kind in ("d", "I", "Q", "Q", "q", "i", "H"))
SIGN, WRAP = 1 << 31, 1 << 32

# Field id: where it is kept; ids and meanings of nvml.h.
ONCE = {
    38: "nvlink.crc_flits",
    45: "nvlink.crc_data",
    52: "nvlink.replays",
    59: "nvlink.recoveries",
    74: "clocks.power_cap_ns",
    76: "clocks.sync_boost_ns",
    82: "heat.memory_c",
    91: "nvlink.count",
    160: "nvlink.ecc_data",
    164: "nvlink.speed_mbps",
    166: "nvlink.version",
    185: "power.average_mw",
    186: "power.instant_mw",
    193: "heat.shutdown_margin_c",
    194: "heat.slowdown_margin_c",
    195: "heat.memory_max_margin_c",
    196: "heat.gpu_max_margin_c",
    230: "recovery_action",
    269: "clocks.software_thermal_ns",
    270: "clocks.hardware_thermal_ns",
    271: "clocks.power_brake_ns",
}
# Degrees to go, below 0 beyond the limit; a library may type them unsigned.
SIGNED = frozenset({193, 194, 195, 196})
# Of one link each: whether it is up, for all links in one call.
STATE = {165: "active"}
# Of one link each, from NVLink 5 on. The first six count whatever goes wrong on the wire; the
# others tell more, and are asked only of links where one of the six is not 0.
WIRE = {
    **STATE,
    208: "receive_errors",
    211: "integrity_errors",
    214: "recoveries_failed",
    215: "recovery_events",
    219: "effective_errors",
    221: "symbol_errors",
}
MORE = {
    206: "malformed_packets",
    207: "buffer_overruns",
    209: "remote_receive_errors",
    210: "general_receive_errors",
    212: "transmit_discards",
    213: "recoveries_successful",
}

Asked = tuple[int, int]
Told = tuple[int, int, int, int | float | None]


class Fields:
    """A question for fields, (id, scope) each, that can be asked of GPU after GPU."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._array = (pynvml.c_nvmlFieldValue_t * len(asked))()
        for place, (field, scope) in zip(self._array, asked, strict=True):
            place.fieldId, place.scopeId = field, scope

    def ask(self, handle: Any) -> Iterator[Told]:  # noqa: ANN401 - a handle
        """Yield (field, scope, code, value); raises NVMLError where there is no answer at all."""
        call = pynvml._nvmlGetFunctionPointer("nvmlDeviceGetFieldValues")  # noqa: SLF001 - the binding's own call fills the question anew for each GPU
        code = call(handle, ctypes.c_int(len(self._array)), ctypes.byref(self._array))
        if code:
            raise pynvml.NVMLError(code)
        for field, scope, _, _, kind, failed, raw in ENTRY.iter_unpack(bytes(self._array)):
            yield field, scope, failed, None if failed else _value(field, kind, raw)


def _value(field: int, kind: int, raw: bytes) -> int | float | None:
    if kind >= len(TYPES):
        return None
    shape = TYPES[kind]
    value: int | float = shape.unpack(raw[: shape.size])[0]
    return value - WRAP if field in SIGNED and value >= SIGN else value
