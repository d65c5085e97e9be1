"""Whether network cards can reach GPU memory without a copy in the host's."""

from collections.abc import Iterator

from collectors.facts.observation import Cause, Missing
from collectors.gpu.bus import PciGpus
from collectors.gpu.modules import DriverModules
from collectors.gpu.peermem import PeerMemory
from collectors.network.ports import Port, Ports
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, NotApplicable, Severity, Statement, Unseen, Well, found

# DMA-BUF for RDMA came with this kernel; the driver exports it from its open modules only.
DMA_BUF = (5, 12)


@check("gpu.peermem", stage="driver", faults=("peermem_not_loaded",), proved="documented")
def peermem(
    memory: PeerMemory, ports: Ports, driver: DriverModules, pci: PciGpus
) -> Iterator[Statement]:
    """Network cards reach GPU memory: nvidia_peermem is loaded, or DMA-BUF can be used.

    Without either NCCL copies through host memory, and traffic between nodes loses a third or more.
    A node with fewer ports than half of its GPUs is not built for that, and is only told.
    """
    active = [port for port in ports.ports if _carries(port)]
    gpus = [gpu for gpu in pci.gpus if gpu.driver == "nvidia"]
    if not gpus or not driver.live:
        yield NotApplicable(why="no GPU is the driver's")
    elif not active:
        yield NotApplicable(why="no InfiniBand or RoCE port is in use")
    elif memory.loaded:
        yield Well(message=f"nvidia_peermem is loaded, {len(active)} ports are in use")
    elif driver.open_source is None:
        detail = "which kind of kernel modules the driver has is not known"
        yield Unseen(missing=Missing(what="DMA-BUF", cause=Cause.GARBLED, detail=detail))
    elif driver.open_source and (memory.kernel is None or memory.kernel >= DMA_BUF):
        yield Well(message=f"DMA-BUF can be used: open modules, kernel {_kernel(memory)}")
    else:
        severity: Severity = "warning" if len(active) * 2 >= len(gpus) else "info"
        yield found(
            "peermem_not_loaded",
            severity,
            NODE,
            "network cards cannot reach GPU memory: nvidia_peermem is not loaded, and DMA-BUF "
            "needs {lacks}; ports in use: {ports}",
            Evidence(source="/sys/module/nvidia_peermem", text="absent"),
            Evidence(
                source="/proc/driver/nvidia/version",
                values={"open": driver.open_source, "kernel": _kernel(memory)},
            ),
            confidence=0.8,
            lacks=_lacks(memory, driver),
            ports=len(active),
        )


def _carries(port: Port) -> bool:
    return not port.virtual and (port.state or "").startswith("ACTIVE")


def _kernel(memory: PeerMemory) -> str:
    return ".".join(map(str, memory.kernel)) if memory.kernel else "unknown"


def _lacks(memory: PeerMemory, driver: DriverModules) -> str:
    lacks = [] if driver.open_source else ["the driver's open kernel modules"]
    if memory.kernel is not None and memory.kernel < DMA_BUF:
        lacks.append(f"kernel 5.12 (this is {_kernel(memory)})")
    return " and ".join(lacks)
