"""Which ports carry a job's data: those beside the GPUs."""

from collections.abc import Sequence

from collectors.facts.observation import Missing
from collectors.gpu.pcie import PciTree
from collectors.network.ports import Port
from diagnostics.checks.gpu.topology import SWITCHES, level


def rails(ports: Sequence[Port], tree: PciTree | Missing) -> tuple[Port, ...]:
    """Return the ports in use that the settings call compute, or that share a switch with a GPU.

    Where the tree shows no port beside a GPU (guests, small boards), the fastest of the fabric.
    """
    real = [p for p in ports if p.active and not p.virtual and p.role in (None, "compute")]
    near = [port for port in real if port.role == "compute" or _beside(port, tree)]
    if near:
        return tuple(near)
    fabric = [port for port in real if port.infiniband] or real
    fastest = max((port.rate_gbps or 0 for port in fabric), default=0)
    return tuple(port for port in fabric if (port.rate_gbps or 0) == fastest)


def _beside(port: Port, tree: PciTree | Missing) -> bool:
    if isinstance(tree, Missing) or port.pci is None:
        return False
    card = tree.at(port.pci)
    return card is not None and any(level(gpu, card) <= SWITCHES for gpu in tree.of("gpu"))
