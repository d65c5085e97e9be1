"""The verb `acs`: which PCIe ports send what two devices below them say to each other upwards.

Access Control Services stand in the extended configuration space, which only root may read.
"""

import glob
import struct
from typing import Any

from collectors.helpers.children.loop import Refused

BRIDGES = "/sys/bus/pci/devices/*/class"
# PCI class 0x0604: PCI-to-PCI bridge, which every port of a root complex or a switch is.
BRIDGE = "0x0604"
FIRST, SPACE = 0x100, 4096
# PCI Express Base Specification: extended capability 0x000d, its control register 6 bytes in.
ACS, CONTROL = 0x000D, 6
MOST_BRIDGES, MOST_CAPABILITIES = 1024, 48


def acs() -> dict[str, Any]:
    """Return the control register of each port that has one, by its PCI address."""
    found = {}
    for path in sorted(glob.glob(BRIDGES))[:MOST_BRIDGES]:
        with open(path, encoding="ascii") as file:
            if not file.read(16).startswith(BRIDGE):
                continue
        address = path.split("/")[-2]
        with open(f"/sys/bus/pci/devices/{address}/config", "rb") as file:
            space = file.read(SPACE)
        if len(space) <= FIRST - 192:
            raise Refused("denied", "only root reads the configuration space of PCIe ports")
        if (control := register(space)) is not None:
            found[address] = control
    return found


def register(space: bytes) -> int | None:
    """Return the ACS control register in a configuration space, None where there is none."""
    at = FIRST
    for _ in range(MOST_CAPABILITIES):
        if at < FIRST or at + CONTROL + 2 > len(space):
            return None
        (head,) = struct.unpack_from("<I", space, at)
        if head & 0xFFFF == ACS:
            control: int = struct.unpack_from("<H", space, at + CONTROL)[0]
            return control
        at = head >> 20
    return None
