"""The power limit of one GPU, by NVML: what it is, what it can be, and set within that."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import nvml_calls
from remediations.actor.registry import Refused
from remediations.actor.target import Gone, Reading

# nvml.h: no such device, and a GPU that fell off the bus. Its limit went with it.
NOT_FOUND, LOST = 6, 15


class GpuLimit:
    """The limit of the GPU at one PCI address, in mW."""

    unit = "mW"

    def __init__(self, pci: str, handle: Any) -> None:  # noqa: ANN401 - a handle of NVML
        self._pci = pci
        self._handle = handle

    def read(self) -> Reading:
        """Return the limit in force, the default and the least that can be set."""
        with _told(self._pci, "tells its power limit"):
            limit = pynvml.nvmlDeviceGetPowerManagementLimit(self._handle)
            default = pynvml.nvmlDeviceGetPowerManagementDefaultLimit(self._handle)
            least, _ = pynvml.nvmlDeviceGetPowerManagementLimitConstraints(self._handle)
        return Reading(limit, default, least)

    def put(self, limit: int) -> int:
        """Set the limit; return what the driver says it is then."""
        with _told(self._pci, f"takes a limit of {limit} mW"):
            pynvml.nvmlDeviceSetPowerManagementLimit(self._handle, limit)
            return int(pynvml.nvmlDeviceGetPowerManagementLimit(self._handle))

    def restore(self, before: int) -> None:
        """Put back what was before."""
        self.put(before)


@contextmanager
def opened(pci: str) -> Iterator[GpuLimit]:
    """Open the driver for one GPU; Gone where it is not there any more."""
    with _told(pci, "can be asked: the driver's library starts"):
        pynvml.nvmlInitWithFlags(0)
    try:
        with _told(pci, "is there"):
            _, handle = nvml_calls.handle(0, pci)
        yield GpuLimit(pci, handle)
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
