"""The few C functions that the nvml child calls, as real function pointers, without a GPU.

Run as a program it is the child itself on top of them: `python fake_nvml.py '{"gpus": [...]}'`.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

U, P = ctypes.c_uint, ctypes.c_void_p
OK, INVALID, TOO_SMALL = 0, 2, 7
BASE = 0x7F00_0000_1000


def at(address: int, kind: Any) -> Any:
    """Return what lies at *address*."""
    return ctypes.cast(address, ctypes.POINTER(kind))[0]


def put(address: int, kind: Any, value: Any) -> None:
    ctypes.cast(address, ctypes.POINTER(kind))[0] = value


class Library:
    """Stands where pynvml keeps the loaded library; a function that is not here does not exist."""

    def __init__(self, scene: dict[str, Any]) -> None:
        self.scene = scene
        self.gpus: list[dict[str, Any]] = scene.get("gpus", [])
        self.inits = 0
        self._add("nvmlInitWithFlags", self.init, U)
        self._add("nvmlSystemGetDriverVersion", self.text("driver"), P, U)
        self._add("nvmlSystemGetNVMLVersion", self.text("nvml"), P, U)
        self._add("nvmlDeviceGetCount_v2", self.count, P)
        self._add("nvmlDeviceGetHandleByIndex_v2", self.handle, U, P)
        self._device("nvmlDeviceGetUUID", self.name("uuid"), P, U)
        self._device("nvmlDeviceGetName", self.name("name"), P, U)
        self._device("nvmlDeviceGetSerial", self.name("serial"), P, U)
        self._device("nvmlDeviceGetMinorNumber", self.number("minor"), P)
        self._device("nvmlDeviceGetPciInfo_v3", self.pci, P)
        self._device("nvmlDeviceGetMemoryInfo_v2", self.memory, P)
        self._device("nvmlDeviceGetUtilizationRates", self.rates, P)
        self._device("nvmlDeviceGetMigMode", self.mig, P, P)
        self._device("nvmlDeviceGetComputeRunningProcesses_v3", self.processes, P, P)

    def _add(self, name: str, call: Callable[..., int], *kinds: Any) -> None:
        if name not in self.scene.get("absent", []):
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(call))

    def _device(self, name: str, call: Callable[..., int], *kinds: Any) -> None:
        def guarded(handle: int | None, *rest: Any) -> int:
            if handle is None:
                sys.exit("a failed handle came back")
            gpu = self.gpus[handle - BASE]
            if name == gpu.get("hangs_in"):
                time.sleep(3600)
            code = int(gpu.get("codes", {}).get(name, OK))
            return code or call(gpu, *rest)

        self._add(name, guarded, P, *kinds)

    def init(self, _flags: int) -> int:
        self.inits += 1
        if self.inits > 1 and not self.scene.get("init"):
            sys.exit("initialised twice")
        return int(self.scene.get("init", OK))

    def text(self, key: str) -> Callable[..., int]:
        def call(buffer: int, size: int) -> int:
            return self._copy(self.scene.get(key, "0"), buffer, size)

        return call

    def name(self, key: str) -> Callable[..., int]:
        def call(gpu: dict[str, Any], buffer: int, size: int) -> int:
            return self._copy(gpu.get(key, key), buffer, size)

        return call

    def _copy(self, text: str, buffer: int, size: int) -> int:
        raw = text.encode("latin-1")[: size - 1] + b"\0"
        ctypes.memmove(buffer, raw, len(raw))
        return OK

    def number(self, key: str) -> Callable[..., int]:
        def call(gpu: dict[str, Any], out: int) -> int:
            put(out, U, gpu[key])
            return OK

        return call

    def count(self, out: int) -> int:
        put(out, U, len(self.gpus))
        return OK

    def handle(self, index: int, out: int) -> int:
        if index >= len(self.gpus):
            return INVALID
        code = int(self.gpus[index].get("handle", OK))
        if code == OK:
            put(out, P, BASE + index)
        return code

    def pci(self, gpu: dict[str, Any], out: int) -> int:
        at(out, pynvml.nvmlPciInfo_t).busId = gpu["pci"].encode("latin-1")
        return OK

    def memory(self, gpu: dict[str, Any], out: int) -> int:
        info = at(out, pynvml.c_nvmlMemory_v2_t)
        if info.version != pynvml.nvmlMemory_v2:
            return int(pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
        info.total, info.used, info.reserved = gpu["total"], gpu["used"], gpu["reserved"]
        return OK

    def rates(self, gpu: dict[str, Any], out: int) -> int:
        at(out, pynvml.c_nvmlUtilization_t).gpu = gpu["use"]
        return OK

    def mig(self, gpu: dict[str, Any], current: int, pending: int) -> int:
        put(current, U, gpu.get("mig", 0))
        put(pending, U, gpu.get("mig", 0))
        return OK

    def processes(self, gpu: dict[str, Any], count: int, out: int | None) -> int:
        listed = gpu.get("processes", [])
        room = at(count, U)
        put(count, U, len(listed))
        if not listed:
            return OK
        if out is None or room < len(listed):
            return TOO_SMALL
        array = at(out, pynvml.c_nvmlProcessInfo_v3_t * len(listed))
        for place, (pid, used) in zip(array, listed, strict=True):
            place.pid, place.usedGpuMemory = pid, used
        return OK


def main() -> int:
    """Answer as the child does, with the scene of the first argument under it."""
    sys.path.insert(0, str(Path(__file__).parents[3]))
    pynvml.nvmlLib = Library(json.loads(sys.argv[1]))
    from collectors.helpers.children import nvml  # noqa: PLC0415 - the path is set above

    # A file of this machine stands for the driver's, which no driver makes here.
    nvml.DRIVER = os.environ.get("GPUDIAG_TEST_DRIVER", "/proc/version")
    return nvml.main()


if __name__ == "__main__":
    sys.exit(main())
