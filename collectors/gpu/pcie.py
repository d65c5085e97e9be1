"""Where GPUs, network cards and NVMe drives sit in the PCI tree, by the folders of sysfs."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu import bus
from collectors.node.protocol import Node

# /sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:19:00.0/uevent : host bridge,
# root port, both sides of a switch, device. The folders of port services (0000:15:01.0:pcie001)
# do not end in a function and are not entered.
ROOT = "/sys/devices/pci*"
FUNCTION = "[0-9a-f]*:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f].[0-7]"
DEEPEST = 8
FOLDERS = tuple("/".join((ROOT, *(FUNCTION,) * depth)) for depth in range(1, DEEPEST + 1))
FILES = ("uevent", "numa_node")

NUMBER = re.compile(r"-?\d{1,4}")

# PCI_CLASS=30200 without its last two digits: display, 3D; NVMe; InfiniBand, Ethernet.
Kind = Literal["gpu", "nvme", "nic"]
KINDS: dict[str, Kind] = {
    "300": "gpu",
    "302": "gpu",
    "108": "nvme",
    "207": "nic",
    "200": "nic",
}
# Cards that can hand data to a GPU themselves; a board's own Ethernet port is none.
RDMA_VENDORS = frozenset({"15B3", "14E4", "1D0F", "8086"})


class PciDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device; `above` are its host bridge and the ports above it, outermost first.

    `model` is vendor and device id (`15b3:1021`); `numa` is None where the board does not tell.
    """

    address: str
    kind: Kind
    above: tuple[str, ...]
    model: str = ""
    driver: str | None = None
    numa: int | None = None

    @property
    def root_port(self) -> str | None:
        """Return the port of the processor that it hangs on, None for a device beside it."""
        return self.above[1] if len(self.above) > 1 else None


class PciTree(Observation, frozen=True, kw_only=True):
    """GPUs of NVIDIA, NVMe drives and RDMA cards by address; virtual functions are left out."""

    devices: tuple[PciDevice, ...] = ()

    def of(self, kind: Kind) -> Iterator[PciDevice]:
        """Yield the devices of one kind."""
        return (device for device in self.devices if device.kind == kind)

    def at(self, address: str) -> PciDevice | None:
        """Return the device at an address."""
        return next((device for device in self.devices if device.address == address), None)


async def collect(node: Node, wanted: Wanted) -> PciTree | Missing:
    """List the tree; this wakes no device."""
    del wanted
    patterns = [f"{folder}/{name}" for folder in FOLDERS for name in FILES]
    names = [f"{folder}/physfn" for folder in FOLDERS]
    seen = await node.files(*patterns, names=names, cap=4096)
    return seen if isinstance(seen, Missing) else parse(seen)


def parse(seen: Files) -> PciTree:
    """Return the devices of the three kinds, each with the way to it."""
    found = [
        device
        for path, text in seen.texts.items()
        if path.endswith("/uevent") and (device := _device(seen, path[: -len("/uevent")], text))
    ]
    return PciTree(devices=tuple(sorted(found, key=lambda device: device.address)))


def _device(seen: Files, folder: str, text: str) -> PciDevice | None:
    *above, address = folder.removeprefix("/sys/devices/").split("/")
    said = bus.fields(text)
    kind = KINDS.get(said.get("PCI_CLASS", "")[:-2])
    vendor = said.get("PCI_ID", "").partition(":")[0]
    ours = {"gpu": vendor == bus.VENDOR, "nic": vendor in RDMA_VENDORS, "nvme": True}
    if kind is None or not ours[kind] or f"{folder}/physfn" in seen.texts:
        return None
    numa = seen.get(f"{folder}/numa_node") or ""
    number = int(numa) if NUMBER.fullmatch(numa) else -1
    return PciDevice(
        address=address,
        kind=kind,
        above=tuple(above),
        model=said.get("PCI_ID", "").lower(),
        driver=said.get("DRIVER") or None,
        # -1: the firmware does not say to which processor it belongs.
        numa=number if number >= 0 else None,
    )
