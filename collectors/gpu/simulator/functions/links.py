"""NVLink and the fabric behind it."""

from typing import TYPE_CHECKING

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.gpu.simulator.functions.answer import (
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
from collectors.gpu.simulator.functions.identity import fill_pci
from collectors.gpu.simulator.symbols import LINK_ERRORS

if TYPE_CHECKING:
    from collectors.gpu.simulator.library import Simulator

SWITCH = 2  # nvml.h: NVML_NVLINK_DEVICE_TYPE_SWITCH
# An NVSwitch of the third generation, as the remote end says it is.
SWITCH_DEVICE, SWITCH_SUBSYSTEM = 0x22A310DE, 0x179610DE
SWITCHES = 4


def checked(values: Values, link: int) -> None:
    """Refuse a link that the GPU has not; any link is unsupported where there is no NVLink."""
    if link >= values["nvlink.count"]:
        raise Failed(INVALID_ARGUMENT)


def is_up(values: Values, link: int) -> int:
    """Return whether a link is active."""
    return int(values.get(f"nvlink.link.{link}.active", 1))


def link_error(values: Values, link: int, name: str) -> int:
    """Return one error counter of a link; NVLink 5 has none of these."""
    if not values["nvlink.error_counters"]:
        raise Failed(NOT_SUPPORTED)
    return int(values.get(f"nvlink.link.{link}.{name}", 0))


def link_errors(values: Values, *names: str) -> int:
    """Return the sum of some error counters over all links."""
    links = range(values["nvlink.count"])
    return sum(link_error(values, link, name) for link in links for name in names)


def port_counter(values: Values, link: int, name: str) -> int:
    """Return one port counter; links before NVLink 5 have none of these."""
    checked(values, link)
    if not values["nvlink.port_counters"]:
        raise Failed(NOT_SUPPORTED)
    return int(values.get(f"nvlink.link.{link}.{name}", 0))


@device("nvmlDeviceGetNvLinkState", UINT, POINTER)
def _state(_simulator: "Simulator", gpu: Gpu, link: int, pointer: int) -> None:
    checked(gpu.values, link)
    put(pointer, UINT, is_up(gpu.values, link))


@device("nvmlDeviceGetNvLinkVersion", UINT, POINTER)
def _version(_simulator: "Simulator", gpu: Gpu, link: int, pointer: int) -> None:
    checked(gpu.values, link)
    put(pointer, UINT, gpu.values["nvlink.version"])


@device("nvmlDeviceGetNvLinkErrorCounter", UINT, UINT, POINTER)
def _error(_simulator: "Simulator", gpu: Gpu, link: int, counter: int, pointer: int) -> None:
    checked(gpu.values, link)
    if counter >= len(LINK_ERRORS):
        raise Failed(INVALID_ARGUMENT)
    put(pointer, ULONGLONG, link_error(gpu.values, link, LINK_ERRORS[counter]))


@device("nvmlDeviceGetNvLinkRemoteDeviceType", UINT, POINTER)
def _remote(_simulator: "Simulator", gpu: Gpu, link: int, pointer: int) -> None:
    checked(gpu.values, link)
    put(pointer, UINT, gpu.values["nvlink.remote"])


@device("nvmlDeviceGetNvLinkRemotePciInfo_v2", UINT, POINTER)
def _remote_pci(_simulator: "Simulator", gpu: Gpu, link: int, pointer: int) -> None:
    checked(gpu.values, link)
    if gpu.values["nvlink.remote"] != SWITCH:
        raise Failed(NOT_SUPPORTED)
    # Links go round the switches of the node, as on an HGX baseboard.
    address = f"00000000:{0x04 + link % SWITCHES:02X}:00.0"
    fill_pci(pointer, gpu.values.get("nvlink.remote_pci", address), SWITCH_DEVICE, SWITCH_SUBSYSTEM)


@device("nvmlDeviceGetGpuFabricInfoV", POINTER)
def _fabric(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    two, three = pynvml.nvmlGpuFabricInfo_v2, pynvml.nvmlGpuFabricInfo_v3
    info = struct(pointer, pynvml.c_nvmlGpuFabricInfo_v2_t, two, three)
    values = gpu.values
    info.state = values["fabric.state"]
    info.status = values["fabric.status"]
    info.cliqueId = values["fabric.clique"]
    info.healthMask = values["fabric.health_mask"]
    info.clusterUuid = type(info.clusterUuid)(*bytes.fromhex(values["fabric.cluster"]))
    if info.version == three:
        longer = struct(pointer, pynvml.c_nvmlGpuFabricInfo_v3_t)
        longer.healthSummary = values["fabric.health_summary"]
