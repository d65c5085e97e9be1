"""Whether each GPU on the bus is the driver's."""

from collections.abc import Iterator, Sequence

from collectors.facts.subject import Subject
from collectors.gpu.bus import PciFunction, PciGpus
from collectors.gpu.modules import DriverModules
from diagnostics.check import NODE, check
from diagnostics.checks.driver.owners import guests
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found

BUS = "/sys/bus/pci/devices"


@check("driver.bus", stage="driver", faults=("gpu_count_mismatch",), proved="documented")
def bus(pci: PciGpus, driver: DriverModules) -> Iterator[Statement]:
    """Each GPU on the PCI bus is bound to the driver, and none has left since its node was made.

    A job that asks for the whole node fails where one is short, or its rank there does.
    """
    if not pci.gpus:
        yield NotApplicable(why="no NVIDIA GPU on the PCI bus")
        return
    if not driver.live:
        yield NotApplicable(why="no NVIDIA module is live that could be bound to them")
        return
    away = guests(pci.gpus)
    bound = [gpu for gpu in pci.gpus if gpu.driver == "nvidia"]
    loose = [gpu for gpu in pci.gpus if gpu not in bound and gpu not in away]
    for gpu in loose:
        yield _loose(gpu, bound)
    if len(pci.minors) > len(pci.gpus):
        yield _left(pci)
    elif 0 < len(pci.minors) < len(bound):
        yield _few_nodes(pci, bound)
    elif not loose:
        yield Well(message=f"GPUs on the bus: {len(bound)} are the driver's, {len(away)} a guest's")


def _loose(gpu: PciFunction, bound: Sequence[PciFunction]) -> Finding:
    # A card of another model beside those in use can be an old one that the driver has dropped.
    odd = bool(bound) and gpu.model not in {other.model for other in bound}
    severity: Severity = "info" if odd else "critical"
    return found(
        "gpu_count_mismatch",
        severity,
        Subject(kind="gpu", name=gpu.address),
        "the GPU at {address} (10de:{model}) is bound to {driver}; to nvidia: {others} others",
        Evidence(
            source=f"{BUS}/{gpu.address}/uevent",
            values={"driver": gpu.driver, "bound": [other.address for other in bound]},
        ),
        variant="unbound",
        address=gpu.address,
        model=gpu.model,
        driver=gpu.driver or "no driver",
        others=len(bound),
    )


def _left(pci: PciGpus) -> Finding:
    return found(
        "gpu_count_mismatch",
        "warning",
        NODE,
        "{minors} GPUs have had a device node since boot, and {gpus} are on the PCI bus",
        Evidence(source="/dev", values={"minors": list(pci.minors)}),
        Evidence(source=BUS, values={"gpus": [gpu.address for gpu in pci.gpus]}),
        variant="left",
        # Some sites make a fixed number of nodes by script.
        confidence=0.6,
        minors=len(pci.minors),
        gpus=len(pci.gpus),
    )


def _few_nodes(pci: PciGpus, bound: Sequence[PciFunction]) -> Finding:
    # A container is given the nodes of its own GPUs alone, and sees the bus of the whole machine.
    return found(
        "gpu_count_mismatch",
        "info",
        NODE,
        "{minors} of {gpus} GPUs have a device node here: a container's share, or not used yet",
        Evidence(source="/dev", values={"minors": list(pci.minors)}),
        variant="nodes",
        minors=len(pci.minors),
        gpus=len(bound),
    )
