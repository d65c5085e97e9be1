"""The one process that has the driver open: each call guarded, a lost GPU an entry of its own."""

import contextlib
import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import loop

# pynvml raises its own errors; NVMLLibraryMismatchError is none of them, a symbol that the library
# lacks is an AttributeError in some getters, and a damaged name or serial a UnicodeDecodeError.
ERRORS = (
    pynvml.NVMLError,
    pynvml.NVMLLibraryMismatchError,
    AttributeError,
    UnicodeDecodeError,
)
MOST_GPUS = 64
MOST_PROCESSES = 1024
NAME = "gpudiag-nvml"

# NVML_VALUE_NOT_AVAILABLE of the C header.
NOT_AVAILABLE = 0xFFFF_FFFF_FFFF_FFFF


class Session:
    """NVML as this process uses it: initialised once, for as long as the process lives."""

    def __init__(self) -> None:
        self._ready = False

    def snapshot(self, only: list[str] = []) -> dict[str, Any]:  # noqa: B006 - is never changed
        """Return versions, count and each GPU; `init_error` where NVML does not start.

        With *only*, the GPUs at these addresses are asked and no other is touched.
        """
        if not self._ready:
            try:
                pynvml.nvmlInitWithFlags(0)
            except ERRORS as error:
                return {"init_error": _code(error), "nvml": _nvml_version()}
            self._ready = True
        failed: dict[str, int | None] = {}
        count = _get(failed, "count", pynvml.nvmlDeviceGetCount)
        return {
            "driver": _text(_get(failed, "driver", pynvml.nvmlSystemGetDriverVersion)),
            "nvml": _nvml_version(),
            "count": count,
            "gpus": _each(only, count or 0),
            "failed": failed,
        }


def _each(only: list[str], count: int) -> list[dict[str, Any]]:
    if not only:
        return [gpu(index) for index in range(min(count, MOST_GPUS))]
    return [gpu(index, address) for index, address in enumerate(only[:MOST_GPUS])]


def gpu(index: int, address: str | None = None) -> dict[str, Any]:
    """Return one GPU; where it gives no handle, its index and the error alone.

    One that is found by its address has the index that NVML gives it. A failed handle is never
    kept: the real library crashes when it gets one back.
    """
    try:
        if address is None:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        else:
            # NVML itself writes the domain with eight digits.
            handle = pynvml.nvmlDeviceGetHandleByPciBusId(f"0000{address}")
            index = pynvml.nvmlDeviceGetIndex(handle)
    except ERRORS as error:
        known = {} if address is None else {"pci": address}
        return {"index": index, **known, "error": _code(error)}
    failed: dict[str, int | None] = {}

    def get(name: str, call: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401 - what NVML returns
        return _get(failed, name, call, handle, *args)

    memory = get("memory", pynvml.nvmlDeviceGetMemoryInfo, pynvml.nvmlMemory_v2)
    rates = get("utilisation", pynvml.nvmlDeviceGetUtilizationRates)
    mig = get("mig", pynvml.nvmlDeviceGetMigMode)
    pci = get("pci", pynvml.nvmlDeviceGetPciInfo)
    return {
        "index": index,
        "uuid": _text(get("uuid", pynvml.nvmlDeviceGetUUID)),
        "pci": _address(pci),
        "minor": get("minor", pynvml.nvmlDeviceGetMinorNumber),
        "name": _text(get("name", pynvml.nvmlDeviceGetName)),
        "serial": _text(get("serial", pynvml.nvmlDeviceGetSerial)),
        "memory_total_bytes": memory and memory.total,
        "memory_used_bytes": memory and memory.used,
        "memory_reserved_bytes": memory and memory.reserved,
        "utilisation_percent": None if rates is None else rates.gpu,
        "mig": None if mig is None else bool(mig[0]),
        "processes": _processes(get("processes", pynvml.nvmlDeviceGetComputeRunningProcesses)),
        "failed": failed,
    }


def _get(failed: dict[str, int | None], name: str, call: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401 - what NVML returns
    """Return what *call* returns, or None with its error code kept under *name*."""
    try:
        return call(*args)
    except ERRORS as error:
        failed[name] = _code(error)
        return None


def _code(error: BaseException) -> int | None:
    """Return the number of an NVML error; NVML errors can be neither hashed nor compared."""
    if isinstance(error, pynvml.NVMLLibraryMismatchError):
        return int(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    value = getattr(error, "value", None)
    return value if isinstance(value, int) else None


def _nvml_version() -> str | None:
    # Answers before init as well: on a mismatch it is the one version that can be had.
    return _text(_get({}, "nvml", pynvml.nvmlSystemGetNVMLVersion))


def _text(value: Any) -> str | None:  # noqa: ANN401 - str from most getters, bytes from some
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else None


def _address(pci: Any) -> str | None:  # noqa: ANN401 - a ctypes structure
    """Return `0000:4e:00.0`: sysfs writes four digits of domain and small letters, NVML eight."""
    if pci is None:
        return None
    field = type(pci).busId
    raw = ctypes.string_at(ctypes.addressof(pci) + field.offset, field.size)
    text = raw.split(b"\0")[0].decode("ascii", "backslashreplace").lower()
    domain, _, rest = text.partition(":")
    with contextlib.suppress(ValueError):
        return f"{int(domain, 16):04x}:{rest}"
    return None


def _processes(listed: Any) -> list[dict[str, int | None]] | None:  # noqa: ANN401 - a list of structures
    if listed is None:
        return None
    entries = []
    for process in listed[:MOST_PROCESSES]:
        used = process.usedGpuMemory
        entries.append({"pid": process.pid, "used_bytes": None if used == NOT_AVAILABLE else used})
    return entries


def main() -> int:
    """Answer on standard input and output until the parent closes them.

    With `--scenario FILE` there is no driver: the library is simulated, of a plan in that file.
    """
    snapshot = Session().snapshot
    if sys.argv[1:2] == ["--scenario"]:
        snapshot = _simulated(sys.argv[2], snapshot)
    # The kernel shows this name among the GPU's holders: they are told from jobs by it.
    with contextlib.suppress(OSError), open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write(NAME)
    loop.serve({"nvml": snapshot}, sys.stdin.buffer, sys.stdout.buffer)
    return 0


def _simulated(path: str, snapshot: loop.Verb) -> loop.Verb:
    """Return *snapshot* on a simulated library, which raises where a call was one that crashes."""
    from collectors.gpu.simulator import library  # noqa: PLC0415 - no node with a driver needs it

    with open(path, encoding="utf-8") as file:
        return library.install(json.load(file)).watched(snapshot)


if __name__ == "__main__":
    sys.exit(main())
