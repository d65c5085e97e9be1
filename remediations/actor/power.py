"""What a GPU may draw or how fast it may run, by NVML: read, and set within its bounds."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import nvml_calls
from remediations.actor.registry import Refused
from remediations.actor.target import Gone, Reading, Target
from remediations.heat import lease

# The lower end of a lock of clocks: what every data centre GPU can idle at.
LOWEST_MHZ = 210
# What a site keeps on a model of GPU, in mW.
Standing = Callable[[str | None], int | None]
# nvml.h: no such device, and a GPU that fell off the bus. Its limit went with it.
NOT_FOUND, LOST = 6, 15


class GpuLimit:
    """The limit of the GPU at one PCI address, in mW; *standing* is its site's, by its model."""

    unit = "mW"
    found: Mapping[str, str] = {}

    def __init__(self, pci: str, handle: Any, standing: Standing) -> None:  # noqa: ANN401 - a handle of NVML
        self._pci = pci
        self._handle = handle
        self._standing = standing

    def read(self) -> Reading:
        """Return the limit in force, what it is where nobody caps, and the least there can be."""
        with _told(self._pci, "tells its power limit"):
            limit = pynvml.nvmlDeviceGetPowerManagementLimit(self._handle)
            default = pynvml.nvmlDeviceGetPowerManagementDefaultLimit(self._handle)
            least, _ = pynvml.nvmlDeviceGetPowerManagementLimitConstraints(self._handle)
            model = nvml_calls.text(pynvml.nvmlDeviceGetName(self._handle))
        return Reading(limit, lease.base(default, least, self._standing(model)), least)

    def put(self, limit: int) -> int:
        """Set the limit; return what the driver says it is then."""
        with _told(self._pci, f"takes a limit of {limit} mW"):
            pynvml.nvmlDeviceSetPowerManagementLimit(self._handle, limit)
            return int(pynvml.nvmlDeviceGetPowerManagementLimit(self._handle))

    def restore(self, before: int) -> None:
        """Put back what was before."""
        self.put(before)


class GpuClocks:
    """The highest clock of the GPU at one PCI address, in MHz.

    No function of NVML tells a lock, so that *held*, what we locked it to, is believed: a site that
    chooses this promises that nobody else locks clocks.
    """

    unit = "MHz"
    found: Mapping[str, str] = {}

    def __init__(self, pci: str, handle: Any, held: int | None) -> None:  # noqa: ANN401 - a handle of NVML
        self._pci = pci
        self._handle = handle
        self._held = held

    def read(self) -> Reading:
        """Return the clock it is held at, and the highest that it can have."""
        with _told(self._pci, "tells its clocks"):
            most = pynvml.nvmlDeviceGetMaxClockInfo(self._handle, pynvml.NVML_CLOCK_GRAPHICS)
        return Reading(most if self._held is None else self._held, most, 0)

    def put(self, limit: int) -> int:
        """Lock it to at most *limit*."""
        with _told(self._pci, f"takes clocks up to {limit} MHz"):
            lowest = min(LOWEST_MHZ, limit)
            pynvml.nvmlDeviceSetGpuLockedClocks(self._handle, lowest, limit)
        return limit

    def restore(self, before: int) -> None:
        """Unlock it."""
        del before
        with _told(self._pci, "unlocks its clocks"):
            pynvml.nvmlDeviceResetGpuLockedClocks(self._handle)


@contextmanager
def opened(pci: str, make: Callable[[str, Any], Target]) -> Iterator[Target]:
    """Open the driver for one GPU; Gone where it is not there any more."""
    with _told(pci, "can be asked: the driver's library starts"):
        pynvml.nvmlInitWithFlags(0)
    try:
        with _told(pci, "is there"):
            _, handle = nvml_calls.handle(0, pci)
        yield make(pci, handle)
    finally:
        pynvml.nvmlShutdown()


@contextmanager
def _told(pci: str, what: str) -> Iterator[None]:
    try:
        yield
    except nvml_calls.ERRORS as error:
        code = nvml_calls.code(error)
        if code in (NOT_FOUND, LOST):
            raise Gone(f"GPU {pci} is not there any more, by error {code}") from None
        raise Refused("crashed", f"not true that GPU {pci} {what}: NVML error {code}") from None
