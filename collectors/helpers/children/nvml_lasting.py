"""What a GPU is and can is asked every 10 min, what stands of it every 30 s, and not every 10 s.

A call that costs a microsecond on one driver waits for the GPU's firmware on another.
"""

import time
from collections.abc import Callable

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import nvml_calls as calls

# Asks some of what stands of a GPU, and keeps it there.
Ask = Callable[[calls.Gpu], None]

LASTS_S = 600.0
# What a person or a fault changes at any time, but not from moment to moment: every third look.
STANDS_S = 25.0
# nvml.h: unknown to this driver or product, for as long as it is loaded. Other codes pass.
LASTING_CODES = frozenset({2, calls.NOT_SUPPORTED, *calls.TOO_OLD})

NUMBERS: tuple[calls.Number, ...] = (
    ("minor", ("nvmlDeviceGetMinorNumber",), ()),
    ("module_id", ("nvmlDeviceGetModuleId",), ()),
    ("numa_node", ("nvmlDeviceGetNumaNodeId",), ()),
    ("heat.shutdown_c", ("nvmlDeviceGetTemperatureThreshold",), (0,)),
    ("heat.slowdown_c", ("nvmlDeviceGetTemperatureThreshold",), (1,)),
    ("heat.memory_max_c", ("nvmlDeviceGetTemperatureThreshold",), (2,)),
    ("heat.gpu_max_c", ("nvmlDeviceGetTemperatureThreshold",), (3,)),
    ("power.default_limit_mw", ("nvmlDeviceGetPowerManagementDefaultLimit",), ()),
    ("clocks.max_graphics_mhz", ("nvmlDeviceGetMaxClockInfo",), (pynvml.NVML_CLOCK_GRAPHICS,)),
    ("clocks.max_sm_mhz", ("nvmlDeviceGetMaxClockInfo",), (pynvml.NVML_CLOCK_SM,)),
    ("clocks.max_memory_mhz", ("nvmlDeviceGetMaxClockInfo",), (pynvml.NVML_CLOCK_MEM,)),
    ("pcie.max_generation", ("nvmlDeviceGetMaxPcieLinkGeneration",), ()),
    ("pcie.gpu_max_generation", ("nvmlDeviceGetGpuMaxPcieLinkGeneration",), ()),
    ("pcie.max_width", ("nvmlDeviceGetMaxPcieLinkWidth",), ()),
)
TEXTS = {
    "uuid": "nvmlDeviceGetUUID",
    "name": "nvmlDeviceGetName",
    "serial": "nvmlDeviceGetSerial",
    "vbios": "nvmlDeviceGetVbiosVersion",
    "inforom": "nvmlDeviceGetInforomImageVersion",
    "board_part": "nvmlDeviceGetBoardPartNumber",
    "modes.gsp_version": "nvmlDeviceGetGspFirmwareVersion",
}
SEVERAL: calls.Several = {
    "nvmlDeviceGetPowerManagementLimitConstraints": (
        ("power.min_limit_mw", False),
        ("power.max_limit_mw", False),
    ),
    "nvmlDeviceGetGspFirmwareMode": (("modes.gsp", True),),
}
# Rows are remapped at a reset alone; whether one waits for it is asked with what stands.
HISTOGRAM = {key: f"remap.spares_{key}" for key in ("max", "high", "partial", "low", "none")}


class Lasting:
    """What was told of each GPU, by its address, while NVML is open."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[str, tuple[float, calls.Gpu, list[int | None]]] = {}
        self._stands: dict[tuple[Ask, str], tuple[float, calls.Gpu]] = {}

    def forget(self) -> None:
        """Ask everything anew: NVML was closed, or it is another time."""
        self._told.clear()
        self._stands.clear()

    def stand(self, gpu: calls.Gpu, ask: Ask) -> None:
        """Add to what *gpu* said what *ask* asks of it, at most every STANDS_S."""
        at = gpu.said.get("pci", "")
        since, told = self._stands.get((ask, at), (0.0, None))
        if told is None or self._clock() - since >= STANDS_S:
            told = calls.Gpu(gpu.handle)
            ask(told)
            if at and set(told.failed.values()) <= LASTING_CODES:
                self._stands[ask, at] = self._clock(), told
        gpu.take(told)

    def add(self, gpu: calls.Gpu) -> None:
        """Add to what *gpu* said what lasts of it."""
        at = gpu.said.get("pci", "")
        since, told, remotes = self._told.get(at, (0.0, None, []))
        links = gpu.said.get("nvlink", {}).get("links", ())
        if told is None or self._clock() - since >= LASTS_S or len(remotes) != len(links):
            told, remotes = _asked(gpu.handle), [_remote(gpu, link["link"]) for link in links]
            if at and set(told.failed.values()) <= LASTING_CODES:
                self._told[at] = self._clock(), told, remotes
        gpu.take(told)
        for link, remote in zip(links, remotes, strict=True):
            link["remote"] = remote


def _asked(handle: object) -> calls.Gpu:
    told = calls.Gpu(handle)
    for name, function in TEXTS.items():
        told.put(name, calls.text(told.call(name, (function,))))
    told.numbers(NUMBERS)
    told.several(SEVERAL)
    if rows := told.call("remap.spares_max", ("nvmlDeviceGetRowRemapperHistogram",)):
        for key, name in HISTOGRAM.items():
            told.put(name, getattr(rows, key))
    return told


def _remote(gpu: calls.Gpu, link: int) -> int | None:
    told = calls.get({}, "", pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, gpu.handle, link)
    return told if isinstance(told, int) else None
