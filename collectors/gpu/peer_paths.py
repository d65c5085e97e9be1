"""What stands in the way between a GPU and a network card: ACS of PCIe ports, and the IOMMU."""

from collections.abc import Mapping

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

DEVICES = "/sys/bus/pci/devices"
CPU = "/proc/cpuinfo"
GROUPS = f"{DEVICES}/*/iommu_group/type"
NVIDIA = "/sys/module/nvidia"


class PeerPaths(Observation, frozen=True, kw_only=True):
    """`acs` are control registers of PCIe ports by address; `iommu` the kind of domain of devices.

    A domain is `DMA` or `DMA-FQ` where addresses are translated, `identity` where they are passed
    through. `virtual` machines have their host between all devices by design.
    """

    acs: Mapping[str, int] = {}
    iommu: Mapping[str, str] = {}
    virtual: bool = False


async def collect(node: Node, wanted: Wanted) -> PeerPaths | Missing:
    """Read the IOMMU's domains, and ask the reader for ACS where a GPU is."""
    del wanted
    seen = await node.files(GROUPS, CPU, names=(NVIDIA,), cap=4096)
    if isinstance(seen, Missing):
        return seen
    iommu = {groups[0]: text.strip()[:20] for groups, text in seen.match(GROUPS)}
    # flags		: fpu vme de pse ... hypervisor lahf_lm
    virtual = " hypervisor " in (seen.get(CPU) or "").replace("\n", " ")
    if NVIDIA not in seen.texts:
        return PeerPaths(iommu=iommu, virtual=virtual)
    answer = await node.ask("acs", deadline_s=5.0)
    if isinstance(answer, Missing):
        return answer
    try:
        registers = msgspec.convert(answer, dict[str, int])
    except msgspec.ValidationError as problem:
        return Missing(what="acs", cause=Cause.GARBLED, detail=str(problem)[:200])
    return PeerPaths(acs=registers, iommu=iommu, virtual=virtual)
