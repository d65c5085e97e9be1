"""Who a GPU is, where it sits, and who computes on it."""

import ctypes
from typing import TYPE_CHECKING

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.gpu.simulator.functions.answer import (
    CORRUPTED_INFOROM,
    INSUFFICIENT_SIZE,
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
    POINTER,
    UINT,
    Failed,
    Gpu,
    device,
    put,
    put_raw,
    put_text,
    struct,
)

if TYPE_CHECKING:
    from collectors.gpu.simulator.library import Simulator

NOT_AVAILABLE = 0xFFFF_FFFF_FFFF_FFFF
GSP_VERSION_SIZE = 0x40  # nvml.h: the caller of this one function states no size
# By nvml.h, nvmlGpuTopologyLevel_t and nvmlGpuP2PCapsIndex_t:
INTERNAL, SINGLE_SWITCH, SAME_NODE, ACROSS = 0, 10, 40, 50
P2P_NVLINK, P2P_LAST = 2, 4
P2P_OK, P2P_NOT_SUPPORTED = 0, 5
FABRIC_COMPLETED = 3

TEXTS = {
    "nvmlDeviceGetName": "name",
    "nvmlDeviceGetSerial": "serial",
    "nvmlDeviceGetUUID": "uuid",
    "nvmlDeviceGetVbiosVersion": "vbios",
    "nvmlDeviceGetInforomImageVersion": "inforom",
    "nvmlDeviceGetBoardPartNumber": "board_part_number",
}


def _text(name: str, key: str) -> None:
    def answer(_simulator: "Simulator", gpu: Gpu, buffer: int, size: int) -> None:
        # An empty text stands for "this GPU has none": a GeForce has no serial number.
        if not (text := gpu.values[key]):
            raise Failed(NOT_SUPPORTED)
        put_text(buffer, text, size)

    device(name, POINTER, UINT)(answer)


for _name, _key in TEXTS.items():
    _text(_name, _key)


@device("nvmlDeviceGetGspFirmwareVersion", POINTER)
def _gsp_version(_simulator: "Simulator", gpu: Gpu, buffer: int) -> None:
    if not gpu.values.get("gsp.enabled"):
        raise Failed(NOT_SUPPORTED)
    put_text(buffer, gpu.values["gsp.version"], GSP_VERSION_SIZE)


@device("nvmlDeviceGetIndex", POINTER)
def _index(_simulator: "Simulator", gpu: Gpu, index: int) -> None:
    put(index, UINT, gpu.index)


@device("nvmlDeviceValidateInforom")
def _validate(_simulator: "Simulator", gpu: Gpu) -> None:
    if not gpu.values.get("inforom_valid", 1):
        raise Failed(CORRUPTED_INFOROM)


def fill_pci(pointer: int, address: str, device_id: int, subsystem_id: int) -> None:
    """Fill nvmlPciInfo_t for an address such as 00000000:53:00.0."""
    pci = struct(pointer, pynvml.nvmlPciInfo_t)
    pci.busId = address.encode()
    pci.busIdLegacy = address[4:].encode()
    pci.domain, pci.bus, pci.device = (
        int(address[a:b], 16) for a, b in ((0, 8), (9, 11), (12, 14))
    )
    pci.pciDeviceId, pci.pciSubSystemId = device_id, subsystem_id


@device("nvmlDeviceGetPciInfo_v3", POINTER)
def _pci(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    values = gpu.values
    fill_pci(pointer, values["pci"], values["pci_device_id"], values["pci_subsystem_id"])


@device("nvmlDeviceGetPlatformInfo", POINTER)
def _platform(_simulator: "Simulator", gpu: Gpu, pointer: int) -> None:
    info = struct(pointer, pynvml.c_nvmlPlatformInfo_v2_t, pynvml.nvmlPlatformInfo_v2)
    values = gpu.values
    put_raw(info, "ibGuid", bytes.fromhex(values["platform.ib_guid"]))
    put_raw(info, "chassisSerialNumber", values["platform.chassis_serial"].encode()[:15] + b"\0")
    put_raw(info, "slotNumber", bytes([values["platform.slot"]]))
    put_raw(info, "trayIndex", bytes([values["platform.tray"]]))
    put_raw(info, "hostId", bytes([values["platform.host"]]))
    put_raw(info, "peerType", bytes([values["platform.peer_type"]]))
    put_raw(info, "moduleId", bytes([values["module_id"]]))


class _LongEntry(ctypes.Structure):
    """A process as drivers 535.43 to 535.86 wrote it under the same name and version."""

    _fields_ = (*pynvml.c_nvmlProcessInfo_v3_t._fields_, ("cc_protected", ctypes.c_ulonglong))


def _processes(name: str, key: str) -> None:
    def answer(simulator: "Simulator", gpu: Gpu, count: int, array: int | None) -> None:
        rows = gpu.values[key]
        room = UINT.from_address(count).value * ctypes.sizeof(pynvml.c_nvmlProcessInfo_v3_t)
        put(count, UINT, len(rows))
        long = "process-entries-535.43" in simulator.quirks
        entry = _LongEntry if long else pynvml.c_nvmlProcessInfo_v3_t
        if rows and (not array or room < len(rows) * ctypes.sizeof(entry)):
            raise Failed(INSUFFICIENT_SIZE)
        for place, (pid, used, instance, compute) in enumerate(rows):
            written = entry.from_address((array or 0) + place * ctypes.sizeof(entry))
            written.pid, written.gpuInstanceId, written.computeInstanceId = pid, instance, compute
            written.usedGpuMemory = NOT_AVAILABLE if used is None else used

    device(name, POINTER, POINTER)(answer)


_processes("nvmlDeviceGetComputeRunningProcesses_v3", "process.compute")
_processes("nvmlDeviceGetGraphicsRunningProcesses_v3", "process.graphics")


@device("nvmlDeviceGetTopologyCommonAncestor", POINTER, POINTER)
def _ancestor(simulator: "Simulator", gpu: Gpu, other: int | None, level: int) -> None:
    peer = simulator.gpu("nvmlDeviceGetTopologyCommonAncestor", other)
    switches = gpu.values.get("pcie.switch"), peer.values.get("pcie.switch")
    if gpu.index == peer.index:
        found = INTERNAL
    elif switches[0] is not None and switches[0] == switches[1]:
        found = SINGLE_SWITCH
    else:
        found = SAME_NODE if gpu.values["numa"] == peer.values["numa"] else ACROSS
    put(level, UINT, found)


@device("nvmlDeviceGetP2PStatus", POINTER, UINT, POINTER)
def _peer(simulator: "Simulator", gpu: Gpu, other: int | None, what: int, status: int) -> None:
    peer = simulator.gpu("nvmlDeviceGetP2PStatus", other)
    if what > P2P_LAST:
        raise Failed(INVALID_ARGUMENT)
    if what == P2P_NVLINK:
        linked = all(_linked(one) for one in (gpu, peer))
        found = P2P_OK if linked else P2P_NOT_SUPPORTED
    else:
        found = max(gpu.values["peer_access"], peer.values["peer_access"])
    put(status, UINT, found)


def _linked(gpu: Gpu) -> bool:
    fabric = gpu.values.get("fabric.state", FABRIC_COMPLETED)
    return bool(gpu.values.get("nvlink.count")) and fabric == FABRIC_COMPLETED
