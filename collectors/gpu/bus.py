"""NVIDIA's functions on the PCI bus, by sysfs: true whether or not a driver runs."""

import re

import msgspec

from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

UEVENT = "/sys/bus/pci/devices/*/uevent"
NODE = "/dev/nvidia[0-9]*"

MINOR = re.compile(r"nvidia(\d{1,4})")

# PCI_ID=10DE:2330
VENDOR = "10DE"
# PCI_CLASS=30200: 0x0300 is a display controller, 0x0302 a 3D controller, 0x0680 another bridge,
# which is how an NVSwitch shows itself.
GPU_CLASSES = ("300", "302")
SWITCH_CLASS = "680"


class PciFunction(msgspec.Struct, frozen=True, kw_only=True):
    """One function at `address` (`0000:4e:00.0`); `model` is the PCI device id (`2330`).

    `driver` is the name of the driver that is bound to it, None where none is. `display` is true
    for a card with a screen of its own (class 0x0300).
    """

    address: str
    model: str
    driver: str | None = None
    display: bool = False


class PciGpus(Observation, frozen=True, kw_only=True):
    """GPUs and NVSwitches on the bus, by address; `minors` are the numbers of /dev/nvidiaN."""

    gpus: tuple[PciFunction, ...] = ()
    switches: tuple[PciFunction, ...] = ()
    minors: tuple[int, ...] = ()


async def collect(node: Node, wanted: Wanted) -> PciGpus | Missing:
    """Read what each function says of itself; this wakes no device."""
    del wanted
    seen = await node.files(UEVENT, names=(NODE,))
    if isinstance(seen, Missing):
        return seen
    functions = [(groups[0], fields(text)) for groups, text in seen.match(UEVENT)]
    return PciGpus(
        gpus=tuple(f for at, said in functions if (f := function(at, said, *GPU_CLASSES))),
        switches=tuple(f for at, said in functions if (f := function(at, said, SWITCH_CLASS))),
        minors=tuple(int(hit[1]) for name in seen.names(NODE) if (hit := MINOR.fullmatch(name))),
    )


def fields(text: str) -> dict[str, str]:
    """Return the `NAME=value` lines of a uevent file."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, sign, value in pairs if sign}


def function(address: str, said: dict[str, str], *classes: str) -> PciFunction | None:
    """Return NVIDIA's function of one of *classes* (base and sub-class), None for any other."""
    vendor, _, model = said.get("PCI_ID", "").partition(":")
    # The kernel prints the class without leading zeros; the last two digits are the interface.
    kind = said.get("PCI_CLASS", "")[:-2]
    if vendor != VENDOR or kind not in classes:
        return None
    return PciFunction(
        address=address.lower(),
        model=model.lower(),
        driver=said.get("DRIVER") or None,
        display=kind == "300",
    )
