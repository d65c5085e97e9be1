"""Numbers of a GPU: link to the host, heat, power, clocks, use, memory and its errors, modes."""

import ctypes
from typing import TYPE_CHECKING, Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.gpu.simulator.functions.answer import (
    INSUFFICIENT_SIZE,
    INT,
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
    POINTER,
    UINT,
    ULONGLONG,
    Failed,
    Gpu,
    Values,
    device,
    put,
    struct,
)

if TYPE_CHECKING:
    from collectors.gpu.simulator.library import Simulator

NUMBERS: dict[str, tuple[Any, str]] = {
    "nvmlDeviceGetMinorNumber": (UINT, "minor"),
    "nvmlDeviceGetModuleId": (UINT, "module_id"),
    "nvmlDeviceGetNumaNodeId": (INT, "numa"),
    "nvmlDeviceGetCurrPcieLinkGeneration": (UINT, "pcie.generation"),
    "nvmlDeviceGetMaxPcieLinkGeneration": (UINT, "pcie.max_generation"),
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": (UINT, "pcie.device_max_generation"),
    "nvmlDeviceGetCurrPcieLinkWidth": (UINT, "pcie.width"),
    "nvmlDeviceGetMaxPcieLinkWidth": (UINT, "pcie.max_width"),
    "nvmlDeviceGetPcieReplayCounter": (UINT, "pcie.replays"),
    "nvmlDeviceGetPowerUsage": (UINT, "power.draw_mw"),
    "nvmlDeviceGetEnforcedPowerLimit": (UINT, "power.limit_mw"),
    "nvmlDeviceGetPowerManagementLimit": (UINT, "power.limit_mw"),
    "nvmlDeviceGetPowerManagementDefaultLimit": (UINT, "power.default_limit_mw"),
    "nvmlDeviceGetCurrentClocksEventReasons": (ULONGLONG, "clocks.reasons"),
    "nvmlDeviceGetCurrentClocksThrottleReasons": (ULONGLONG, "clocks.reasons"),
    "nvmlDeviceGetPerformanceState": (UINT, "performance_state"),
    "nvmlDeviceGetPersistenceMode": (UINT, "persistence"),
    "nvmlDeviceGetComputeMode": (UINT, "compute_mode"),
    "nvmlDeviceGetAccountingMode": (UINT, "accounting"),
    "nvmlDeviceGetRetiredPagesPendingStatus": (UINT, "retired.pending"),
}
LISTS = {
    "nvmlDeviceGetPowerManagementLimitConstraints": ("power.min_limit_mw", "power.max_limit_mw"),
    "nvmlDeviceGetEccMode": ("ecc.enabled", "ecc.pending"),
    "nvmlDeviceGetMigMode": ("mig.current", "mig.pending"),
    "nvmlDeviceGetGspFirmwareMode": ("gsp.enabled", "gsp.default"),
    "nvmlDeviceGetRemappedRows": (
        "remap.corrected",
        "remap.uncorrected",
        "remap.pending",
        "remap.failure",
    ),
}
# By nvml.h: nvmlTemperatureThresholds_t, nvmlClockType_t
THRESHOLDS = ("shutdown_c", "slowdown_c", "memory_max_c", "gpu_max_c")
CLOCKS = ("graphics", "sm", "memory", "video")
LOCKED = ("graphics", "sm")
LIFETIMES = ("volatile", "aggregate")
CORRECTED, UNCORRECTED = 0, 1
DRAM, SRAM = 2, 7  # nvml.h: nvmlMemoryLocation_t
SINGLE_BIT, DOUBLE_BIT = 0, 1


def _number(name: str, kind: Any, key: str) -> None:  # noqa: ANN401 - a ctypes type
    def answer(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
        put(pointer, kind, gpu.values[key])

    device(name, POINTER)(answer)


def _numbers(name: str, keys: tuple[str, ...]) -> None:
    def answer(_simulator: "Simulator", gpu: Gpu, *pointers: int) -> None:
        for pointer, key in zip(pointers, keys, strict=True):
            put(pointer, UINT, gpu.values[key])

    device(name, *(POINTER for _ in keys))(answer)


def _chosen(name: str, keys: tuple[str, ...], beyond: int) -> None:
    def answer(_simulator: "Simulator", gpu: Gpu, which: int, pointer: int) -> None:
        if which >= len(keys):
            raise Failed(beyond)
        put(pointer, UINT, gpu.values[keys[which]])

    device(name, UINT, POINTER)(answer)


for _name, (_kind, _key) in NUMBERS.items():
    _number(_name, _kind, _key)
for _name, _keys in LISTS.items():
    _numbers(_name, _keys)
_chosen("nvmlDeviceGetTemperature", ("temperature.gpu_c",), INVALID_ARGUMENT)
_chosen(
    "nvmlDeviceGetTemperatureThreshold",
    tuple(f"temperature.{key}" for key in THRESHOLDS),
    NOT_SUPPORTED,
)
_chosen(
    "nvmlDeviceGetMaxClockInfo",
    tuple(f"clocks.max_{key}_mhz" for key in CLOCKS),
    INVALID_ARGUMENT,
)


@device("nvmlDeviceGetClockInfo", UINT, POINTER)
def _clock(_simulator: "Simulator", gpu: Gpu, which: int, pointer: int) -> None:
    if which >= len(CLOCKS):
        raise Failed(INVALID_ARGUMENT)
    mhz = gpu.values[f"clocks.{CLOCKS[which]}_mhz"]
    locked = gpu.values.get("clocks.locked_mhz") if CLOCKS[which] in LOCKED else None
    put(pointer, UINT, min(mhz, locked) if locked else mhz)


@device("nvmlDeviceGetTemperatureV", POINTER)
def _temperature(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    asked = struct(pointer, pynvml.c_nvmlTemperature_v1_t, pynvml.nvmlTemperature_v1)
    if asked.sensorType:
        raise Failed(INVALID_ARGUMENT)
    asked.temperature = gpu.values["temperature.gpu_c"]


@device("nvmlDeviceGetMarginTemperature", POINTER)
def _margin(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    asked = struct(pointer, pynvml.c_nvmlMarginTemperature_v1_t, pynvml.nvmlMarginTemperature_v1)
    asked.marginTemperature = gpu.values["temperature.margin_c"]


@device("nvmlDeviceGetUtilizationRates", POINTER)
def _use(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    rates = struct(pointer, pynvml.c_nvmlUtilization_t)
    rates.gpu, rates.memory = gpu.values["utilization"], gpu.values["memory_utilization"]


def _memory(values: Values) -> tuple[int, int, int]:
    return (
        values["memory.total_bytes"],
        values["memory.reserved_bytes"],
        values["memory.used_bytes"],
    )


@device("nvmlDeviceGetMemoryInfo", POINTER)
def _memory_v1(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    info = struct(pointer, pynvml.c_nvmlMemory_t)
    total, reserved, used = _memory(gpu.values)
    # Before v2 the reserve was counted as used.
    info.total, info.used, info.free = total, used + reserved, total - used - reserved


@device("nvmlDeviceGetMemoryInfo_v2", POINTER)
def _memory_v2(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    info = struct(pointer, pynvml.c_nvmlMemory_v2_t, pynvml.nvmlMemory_v2)
    total, reserved, used = _memory(gpu.values)
    info.total, info.reserved, info.used, info.free = total, reserved, used, total - used - reserved


def _ecc(values: Values, kind: int, lifetime: int, place: int) -> int:
    """Return one counter; with ECC off there is none."""
    if kind > UNCORRECTED or lifetime >= len(LIFETIMES):
        raise Failed(INVALID_ARGUMENT)
    if not values["ecc.enabled"]:
        raise Failed(NOT_SUPPORTED)
    table = f"ecc.{LIFETIMES[lifetime]}."
    where = {DRAM: "dram", SRAM: "sram"}.get(place)
    if where is None:
        raise Failed(NOT_SUPPORTED)
    if kind == CORRECTED:
        return int(values[f"{table}{where}_corrected"])
    if where == "sram" and f"{table}sram_parity" in values:
        return int(values[f"{table}sram_parity"] + values[f"{table}sram_secded"])
    return int(values[f"{table}{where}_uncorrected"])


@device("nvmlDeviceGetTotalEccErrors", UINT, UINT, POINTER)
def _ecc_total(_simulator: "Simulator", gpu: Gpu, kind: int, lifetime: int, count: int) -> None:
    total = sum(_ecc(gpu.values, kind, lifetime, place) for place in (DRAM, SRAM))
    put(count, ULONGLONG, total)


@device("nvmlDeviceGetMemoryErrorCounter", UINT, UINT, UINT, POINTER)
def _ecc_counter(
    _simulator: "Simulator", gpu: Gpu, kind: int, lifetime: int, place: int, count: int
) -> None:
    put(count, ULONGLONG, _ecc(gpu.values, kind, lifetime, place))


@device("nvmlDeviceGetSramEccErrorStatus", POINTER)
def _sram(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    kind, version = pynvml.c_nvmlEccSramErrorStatus_v1_t, pynvml.nvmlEccSramErrorStatus_v1
    status = struct(pointer, kind, version)
    values = gpu.values
    for lifetime in LIFETIMES:
        setattr(status, f"{lifetime}UncParity", values[f"ecc.{lifetime}.sram_parity"])
        setattr(status, f"{lifetime}UncSecDed", values[f"ecc.{lifetime}.sram_secded"])
        setattr(status, f"{lifetime}Cor", values[f"ecc.{lifetime}.sram_corrected"])
    status.aggregateUncBucketL2 = values["ecc.sram.l2"]
    status.aggregateUncBucketSm = values["ecc.sram.sm"]
    status.aggregateUncBucketPcie = values["ecc.sram.pcie"]
    status.aggregateUncBucketMcu = values["ecc.sram.microcontroller"]
    status.aggregateUncBucketOther = values["ecc.sram.other"]
    status.bThresholdExceeded = values["ecc.sram.threshold_exceeded"]


@device("nvmlDeviceGetRepairStatus", POINTER)
def _repair(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    status = struct(pointer, pynvml.c_nvmlRepairStatus_t, pynvml.nvmlRepairStatus_v1)
    status.bChannelRepairPending = gpu.values["repair.channel_pending"]
    status.bTpcRepairPending = gpu.values["repair.tpc_pending"]


@device("nvmlDeviceGetRowRemapperHistogram", POINTER)
def _histogram(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    rows = struct(pointer, pynvml.c_nvmlRowRemapperHistogramValues)
    for key in ("max", "high", "partial", "low", "none"):
        setattr(rows, key, gpu.values[f"remap.{key}"])


def _retired(
    _simulator: "Simulator", gpu: Gpu, cause: int, count: int, array: int | None, *_times: int
) -> None:
    keys = {SINGLE_BIT: "retired.single_bit", DOUBLE_BIT: "retired.double_bit"}
    if cause not in keys:
        raise Failed(INVALID_ARGUMENT)
    pages = gpu.values[keys[cause]]
    room = UINT.from_address(count).value
    put(count, UINT, len(pages))
    if pages and (not array or room < len(pages)):
        raise Failed(INSUFFICIENT_SIZE)
    for place, page in enumerate(pages):
        put((array or 0) + place * ctypes.sizeof(ULONGLONG), ULONGLONG, page)


device("nvmlDeviceGetRetiredPages", UINT, POINTER, POINTER)(_retired)
