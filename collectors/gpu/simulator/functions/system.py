"""Start and end, versions, and how a GPU is found."""

from typing import TYPE_CHECKING

from collectors.gpu.simulator.functions.answer import (
    INT,
    INVALID_ARGUMENT,
    NOT_FOUND,
    POINTER,
    TEXT,
    UINT,
    Failed,
    put,
    put_text,
    system,
)

if TYPE_CHECKING:
    from collectors.gpu.simulator.library import Simulator


@system("nvmlInitWithFlags", UINT, before_init=True)
def _init(simulator: "Simulator", _flags: int) -> None:
    simulator.initialised += 1


@system("nvmlShutdown")
def _shutdown(simulator: "Simulator") -> None:
    simulator.initialised -= 1


@system("nvmlSystemGetDriverVersion", POINTER, UINT)
def _driver(simulator: "Simulator", buffer: int, size: int) -> None:
    put_text(buffer, simulator.driver, size)


@system("nvmlSystemGetNVMLVersion", POINTER, UINT, before_init=True)
def _nvml(simulator: "Simulator", buffer: int, size: int) -> None:
    put_text(buffer, simulator.nvml, size)


def _cuda(simulator: "Simulator", version: int) -> None:
    put(version, INT, simulator.cuda)


for _name in ("nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2"):
    system(_name, POINTER)(_cuda)


@system("nvmlSystemGetProcessName", UINT, POINTER, UINT)
def _process_name(simulator: "Simulator", pid: int, buffer: int, size: int) -> None:
    name = simulator.state.system.get(f"process.{pid}")
    if name is None:
        raise Failed(NOT_FOUND)
    put_text(buffer, name, size)


@system("nvmlDeviceGetCount_v2", POINTER)
def _count(simulator: "Simulator", count: int) -> None:
    put(count, UINT, simulator.count)


def _handle(simulator: "Simulator", name: str, index: int, handle: int) -> None:
    simulator.enter(name, index)
    put(handle, POINTER, simulator.handle(index))


@system("nvmlDeviceGetHandleByIndex_v2", UINT, POINTER)
def _by_index(simulator: "Simulator", index: int, handle: int) -> None:
    if index >= simulator.count:
        raise Failed(INVALID_ARGUMENT)
    _handle(simulator, "nvmlDeviceGetHandleByIndex_v2", index, handle)


def _finder(name: str, key: str) -> None:
    def found(simulator: "Simulator", wanted: bytes | None, handle: int) -> None:
        if wanted is None:
            raise Failed(INVALID_ARGUMENT)
        asked = wanted.decode("utf-8", "surrogateescape")
        for index, values in enumerate(simulator.state.gpus):
            if values.get(key, "").casefold() == asked.casefold():
                return _handle(simulator, name, index, handle)
        raise Failed(NOT_FOUND)

    system(name, TEXT, POINTER)(found)


_finder("nvmlDeviceGetHandleByUUID", "uuid")
_finder("nvmlDeviceGetHandleBySerial", "serial")
_finder("nvmlDeviceGetHandleByPciBusId_v2", "pci")
