"""The firmware of the NVSwitches, as their kernel module tells of it by itself."""

import re

import msgspec

from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

# Written by nvidia.ko for the switches that it drives (A100 and H100 boards). From Blackwell on the
# switches are driven by the fabric manager through a bridge, and have no file here.
INFORMATION = "/proc/driver/nvidia-nvswitch/devices/*/information"

# BIOS Version: 92.10.1c.00.01
BIOS = re.compile(r"^BIOS Version: ([0-9a-f]{2}(?:\.[0-9a-f]{2}){4})$", re.MULTILINE)
ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class NvSwitch(msgspec.Struct, frozen=True, kw_only=True):
    """One switch; `bios` is None where the module tells none (`N/A`: it was not initialised)."""

    address: str
    bios: str | None = None


class NvSwitches(Observation, frozen=True, kw_only=True):
    """The switches that the node's own kernel drives, by PCI address."""

    switches: tuple[NvSwitch, ...] = ()


async def collect(node: Node, wanted: Wanted) -> NvSwitches | Missing:
    """Read one line for each switch; any user may."""
    del wanted
    seen = await node.files(INFORMATION, cap=256)
    if isinstance(seen, Missing):
        return seen
    return NvSwitches(
        switches=tuple(
            NvSwitch(address=groups[0], bios=bios(text))
            for groups, text in seen.match(INFORMATION)
            if ADDRESS.fullmatch(groups[0])
        )
    )


def bios(text: str) -> str | None:
    """Return the version that `information` tells."""
    hit = BIOS.search(text)
    return hit[1] if hit else None
