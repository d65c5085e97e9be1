"""What hangs below a PCIe port of which the kernel tells: its own name says nothing to a person."""

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.gpu.pcie import Kind, PciTree
from diagnostics.finding import Finding, Text

CALLED: dict[Kind, str] = {"gpu": "GPU", "nic": "network card", "nvme": "NVMe"}
MOST = 8
# A port is no subject of its own: its lines are told of the node, or of a device.
PORTS = frozenset({"node", "device"})


def named(finding: Finding, tree: PciTree | Missing) -> Finding:
    """Return *finding* with what hangs below its port in the sentence.

    It is about a GPU that is alone there, and so is joined with what else is told of that GPU.
    """
    port = finding.text.args.get("device")
    if isinstance(tree, Missing) or finding.subject.kind not in PORTS or port is None:
        return finding
    devices = [device for device in tree.devices if port in device.above]
    if not devices:
        return finding
    words = ", ".join(f"{CALLED[device.kind]} {device.address}" for device in devices[:MOST])
    more = len(devices) - MOST
    told = words if more <= 0 else f"{words} and {more} more"
    alone = len(devices) == 1 and devices[0].kind == "gpu"
    return msgspec.structs.replace(
        finding,
        subject=Subject(kind="gpu", name=devices[0].address) if alone else finding.subject,
        message=f"{finding.message}; below this port: {told}",
        text=Text(key=f"{finding.text.key}.below", args={**finding.text.args, "below": told}),
    )
