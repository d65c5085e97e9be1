"""Which driver a GPU on the bus belongs to."""

from collections.abc import Sequence

from collectors.gpu.bus import PciFunction

# Drivers that hold a function for a virtual machine; pciback is Xen's.
GUEST_DRIVERS = frozenset(
    {"vfio-pci", "nvgrace_gpu_vfio_pci", "nvgrace-gpu-vfio-pci", "pci-stub", "pciback"}
)
SHOWN = 4


def guests(gpus: Sequence[PciFunction]) -> list[PciFunction]:
    """Return the GPUs that are held for a guest."""
    return [gpu for gpu in gpus if gpu.driver in GUEST_DRIVERS]


def listed(gpus: Sequence[PciFunction]) -> str:
    """Return their addresses, the first few by name."""
    more = len(gpus) - SHOWN
    names = ", ".join(gpu.address for gpu in gpus[:SHOWN])
    return f"{names} and {more} more" if more > 0 else names
