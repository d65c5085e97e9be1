"""The machine's own firmware, as DMI tells of it."""

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

DMI = "/sys/class/dmi/id"
NAMES = ("bios_vendor", "bios_version", "bios_date", "product_name", "board_name")
MOST = 80


class Bios(Observation, frozen=True, kw_only=True):
    """BIOS and board as their makers name them; `bios_date` is written as month/day/year."""

    bios_vendor: str | None = None
    bios_version: str | None = None
    bios_date: str | None = None
    product_name: str | None = None
    board_name: str | None = None


async def collect(node: Node, wanted: Wanted) -> Bios | Missing:
    """Read what every user may read: serial numbers are not among it."""
    del wanted
    seen = await node.files(*(f"{DMI}/{name}" for name in NAMES), cap=256)
    return seen if isinstance(seen, Missing) else parse(seen)


def parse(seen: Files) -> Bios:
    """Return the names without what boards pad them with."""
    texts = {name: " ".join((seen.get(f"{DMI}/{name}") or "").split())[:MOST] for name in NAMES}
    return msgspec.convert({name: text or None for name, text in texts.items()}, Bios)
