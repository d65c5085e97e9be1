"""Everything that the binding can ask of all GPUs, as plain data: values, or the code of the error.

`python -m tests.collectors.gpu.simulator.snapshot` asks the library that the loader finds.
"""

import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any

import pynvml as p  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

PLAIN = {
    "vbios": p.nvmlDeviceGetVbiosVersion,
    "name": p.nvmlDeviceGetName,
    "serial": p.nvmlDeviceGetSerial,
    "uuid": p.nvmlDeviceGetUUID,
    "inforom": p.nvmlDeviceGetInforomImageVersion,
    "inforom_valid": p.nvmlDeviceValidateInforom,
    "board_part_number": p.nvmlDeviceGetBoardPartNumber,
    "gsp_version": p.nvmlDeviceGetGspFirmwareVersion,
    "gsp_mode": p.nvmlDeviceGetGspFirmwareMode,
    "index": p.nvmlDeviceGetIndex,
    "minor": p.nvmlDeviceGetMinorNumber,
    "module_id": p.nvmlDeviceGetModuleId,
    "numa": p.nvmlDeviceGetNumaNodeId,
    "pci": p.nvmlDeviceGetPciInfo,
    "generation": p.nvmlDeviceGetCurrPcieLinkGeneration,
    "max_generation": p.nvmlDeviceGetMaxPcieLinkGeneration,
    "device_max_generation": p.nvmlDeviceGetGpuMaxPcieLinkGeneration,
    "width": p.nvmlDeviceGetCurrPcieLinkWidth,
    "max_width": p.nvmlDeviceGetMaxPcieLinkWidth,
    "replays": p.nvmlDeviceGetPcieReplayCounter,
    "margin": p.nvmlDeviceGetMarginTemperature,
    "power": p.nvmlDeviceGetPowerUsage,
    "enforced_limit": p.nvmlDeviceGetEnforcedPowerLimit,
    "limit": p.nvmlDeviceGetPowerManagementLimit,
    "default_limit": p.nvmlDeviceGetPowerManagementDefaultLimit,
    "limits": p.nvmlDeviceGetPowerManagementLimitConstraints,
    "reasons": p.nvmlDeviceGetCurrentClocksEventReasons,
    "throttle_reasons": p.nvmlDeviceGetCurrentClocksThrottleReasons,
    "performance_state": p.nvmlDeviceGetPerformanceState,
    "utilization": p.nvmlDeviceGetUtilizationRates,
    "memory_v1": p.nvmlDeviceGetMemoryInfo,
    "ecc": p.nvmlDeviceGetEccMode,
    "repair": p.nvmlDeviceGetRepairStatus,
    "retired_pending": p.nvmlDeviceGetRetiredPagesPendingStatus,
    "remapped": p.nvmlDeviceGetRemappedRows,
    "histogram": p.nvmlDeviceGetRowRemapperHistogram,
    "compute": p.nvmlDeviceGetComputeRunningProcesses,
    "graphics": p.nvmlDeviceGetGraphicsRunningProcesses,
    "persistence": p.nvmlDeviceGetPersistenceMode,
    "compute_mode": p.nvmlDeviceGetComputeMode,
    "accounting": p.nvmlDeviceGetAccountingMode,
    "mig": p.nvmlDeviceGetMigMode,
    "event_types": p.nvmlDeviceGetSupportedEventTypes,
}
# More of the same function: its name, the function, the argument.
CHOSEN = [
    ("temperature", p.nvmlDeviceGetTemperatureV, 0),
    ("old_temperature", p.nvmlDeviceGetTemperature, 0),
    ("memory", p.nvmlDeviceGetMemoryInfo, p.nvmlMemory_v2),
    *((f"threshold.{n}", p.nvmlDeviceGetTemperatureThreshold, n) for n in range(8)),
    *((f"clock.{n}", p.nvmlDeviceGetClockInfo, n) for n in range(4)),
    *((f"max_clock.{n}", p.nvmlDeviceGetMaxClockInfo, n) for n in range(4)),
    *((f"retired.{n}", p.nvmlDeviceGetRetiredPages, n) for n in range(2)),
    *((f"link.{n}", p.nvmlDeviceGetNvLinkState, n) for n in range(19)),
    ("link_version", p.nvmlDeviceGetNvLinkVersion, 0),
    ("link_remote", p.nvmlDeviceGetNvLinkRemoteDeviceType, 0),
    ("link_remote_pci", p.nvmlDeviceGetNvLinkRemotePciInfo, 5),
]
ECC = [(kind, lifetime) for kind in (0, 1) for lifetime in (0, 1)]
FIELDS = [
    *(38, 45, 52, 59, 74, 76, 82, 91, 94, *range(142, 146), *range(160, 164)),
    *range(185, 191),
    *range(192, 197),
    *(230, 269, 270, 271, *range(301, 308)),
]
LINK_FIELDS = [164, 165, 166, *range(206, 223)]


def plain(value: Any) -> Any:
    """Return a value of the binding as JSON can hold it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, ctypes.Structure):
        return {name: plain(getattr(value, name)) for name, *_ in value._fields_}
    if isinstance(value, ctypes.Array):
        return list(value)
    return dict(vars(value)) if hasattr(value, "__dict__") else value


def ask(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function answers, or `"error N"`."""
    try:
        return plain(function(*arguments))
    except p.NVMLError as error:
        return f"error {error.value}"
    except UnicodeDecodeError:
        return "not text"


def by_reference(function: Callable[..., Any], handle: Any, made: ctypes.Structure) -> Any:
    """Return the structure that a function fills for its caller, or `"error N"`."""
    said = ask(function, handle, ctypes.byref(made))
    return plain(made) if said == p.NVML_SUCCESS else said


def field_values(handle: Any, fields: list[Any]) -> Any:
    try:
        values = p.nvmlDeviceGetFieldValues(handle, fields)
    except p.NVMLError as error:
        return f"error {error.value}"
    members = {1: "uiVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}
    return {
        f"{one.fieldId}.{one.scopeId}": f"error {one.nvmlReturn}"
        if one.nvmlReturn
        else getattr(one.value, members[one.valueType])
        for one in values
    }


def gpu(handle: Any) -> dict[str, Any]:
    """Return everything about one GPU."""
    links = [(field, link) for field in LINK_FIELDS for link in (0, 4, 18)]
    return {
        **{name: ask(function, handle) for name, function in PLAIN.items()},
        **{name: ask(function, handle, argument) for name, function, argument in CHOSEN},
        **{f"ecc.{k}.{t}": ask(p.nvmlDeviceGetTotalEccErrors, handle, k, t) for k, t in ECC},
        **{
            f"ecc.{k}.{t}.{w}": ask(p.nvmlDeviceGetMemoryErrorCounter, handle, k, t, w)
            for k, t in ECC
            for w in (2, 7)
        },
        **{
            f"link_error.{link}.{c}": ask(p.nvmlDeviceGetNvLinkErrorCounter, handle, link, c)
            for link in (0, 4, 18)
            for c in range(5)
        },
        "sram": by_reference(
            p.nvmlDeviceGetSramEccErrorStatus, handle, p.c_nvmlEccSramErrorStatus_v1_t()
        ),
        "fabric_v2": by_reference(
            p.nvmlDeviceGetGpuFabricInfoV, handle, p.c_nvmlGpuFabricInfo_v2_t()
        ),
        "fabric": by_reference(p.nvmlDeviceGetGpuFabricInfoV, handle, p.c_nvmlGpuFabricInfo_v3_t()),
        "platform": platform(handle),
        "fields": field_values(handle, FIELDS),
        "link_fields": field_values(handle, links),
    }


def platform(handle: Any) -> Any:
    """Return the raw bytes of the platform's structure: its GUID is binary."""
    made = p.c_nvmlPlatformInfo_v2_t()
    said = ask(p.nvmlDeviceGetPlatformInfo, handle, ctypes.byref(made))
    return bytes(made).hex() if said == p.NVML_SUCCESS else said


def pairs(handles: list[Any]) -> list[Any]:
    """Return what the binding says of the first GPU and each other."""
    first = handles[0]
    return [
        [
            ask(p.nvmlDeviceGetTopologyCommonAncestor, first, other),
            *(ask(p.nvmlDeviceGetP2PStatus, first, other, what) for what in range(5)),
        ]
        for other in handles
    ]


def take() -> dict[str, Any]:
    """Return everything about the node; the library must be initialised."""
    count = p.nvmlDeviceGetCount()
    handles = []
    gpus = []
    for index in range(count):
        try:
            handle = p.nvmlDeviceGetHandleByIndex(index)
        except p.NVMLError as error:
            gpus.append({"handle": f"error {error.value}"})
            continue
        handles.append(handle)
        gpus.append(gpu(handle))
    return {
        "driver": ask(p.nvmlSystemGetDriverVersion),
        "nvml": ask(p.nvmlSystemGetNVMLVersion),
        "cuda": ask(p.nvmlSystemGetCudaDriverVersion_v2),
        "count": count,
        "gpus": gpus,
        "pairs": pairs(handles) if handles else [],
    }


if __name__ == "__main__":
    p.nvmlInit()
    json.dump(take(), sys.stdout)
