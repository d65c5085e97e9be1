"""Can a GPU and the network card beside it speak to each other directly."""

from collections.abc import Iterator

from collectors.gpu.pcie import PciDevice, PciTree
from collectors.gpu.peer_paths import PeerPaths
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

# ACS control: P2P request redirect and completion redirect (PCI Express Base Specification).
REDIRECT = 0x0004 | 0x0008
TRANSLATED = "DMA"
SHOWN = 8


@check("gpu.peer_paths", stage="driver", faults=("iommu_misconfigured",), proved="documented")
def peer_paths(seen: PeerPaths, tree: PciTree) -> Iterator[Statement]:
    """Between a GPU and a card on one PCIe switch, nothing sends the data up to the processor.

    GPUDirect RDMA goes through the switch. With ACS redirect on its ports, as firmware sets it for
    virtual machines, each packet goes to the processor and back, at about half of the bandwidth.
    """
    pairs = [(gpu, card) for gpu in tree.of("gpu") for card in tree.of("nic") if _near(gpu, card)]
    if not pairs:
        yield NotApplicable(why="no GPU shares a PCIe switch with a network card")
        return
    ports = {
        port: seen.acs[port]
        for gpu, card in pairs
        for port in _between(gpu, card)
        if seen.acs.get(port, 0) & REDIRECT
    }
    if not ports:
        yield Well(message=f"{len(pairs)} pairs of GPU and card speak to each other directly")
        return
    yield _redirected(seen, ports, len(pairs))


def _near(one: PciDevice, other: PciDevice) -> bool:
    """Return whether both hang below one switch: host bridge, root port and its upper side."""
    return len(one.above) > 2 and one.above[:3] == other.above[:3]  # noqa: PLR2004 - see above


def _between(one: PciDevice, other: PciDevice) -> Iterator[str]:
    """Yield the ports below the last that both share."""
    for mine, theirs in ((one, other), (other, one)):
        yield from (port for port in mine.above if port not in theirs.above)


def _redirected(seen: PeerPaths, ports: dict[str, int], pairs: int) -> Finding:
    translated = any(kind.startswith(TRANSLATED) for kind in seen.iommu.values())
    return found(
        "iommu_misconfigured",
        "info" if seen.virtual else "warning",
        NODE,
        "{ports} PCIe ports between GPUs and network cards redirect peer traffic to the processor "
        "(ACS); {pairs} pairs lose about half of their bandwidth; the IOMMU {iommu}",
        *(
            Evidence(
                source=f"/sys/bus/pci/devices/{port}/config",
                values={"acs_control": f"{value:#06x}"},
            )
            for port, value in list(ports.items())[:SHOWN]
        ),
        confidence=0.8,
        ports=len(ports),
        pairs=pairs,
        iommu="translates addresses" if translated else "passes addresses through",
    )
