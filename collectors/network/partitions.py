"""In which partition a port is: the P_Key at the first place of its table, which `ibping` uses.

The kernel asks the card's firmware for it, so it is read where a peer was just pinged, not by tier.
"""

import re
from collections.abc import Iterable

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing
from collectors.node.protocol import Node

CLASS = "/sys/class/infiniband"
# 0xffff        0x7fff
PKEY = re.compile(r"0x([0-9a-fA-F]{4})")
# 0x2c
LID = re.compile(r"0x([0-9a-fA-F]{1,4})")
# IBTA Vol. 1, 10.9.1.1: the highest bit is full membership, the rest names the partition.
FULL, NUMBER = 0x8000, 0x7FFF


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a port is in its fabric: its P_Key and its LID, None where they are not known."""

    pkey: int | None = None
    lid: int | None = None


async def place(node: Node, device: str) -> Place:
    """Return where port 1 of *device* is; of no device by name, what all of them agree in."""
    base = f"{CLASS}/{device or '*'}/ports/1"
    seen = await node.files(f"{base}/pkeys/0", f"{base}/lid", cap=64)
    return Place() if isinstance(seen, Missing) else parse(seen)


def parse(seen: Files) -> Place:
    """Return what the files of one or more ports say alike."""
    port = f"{CLASS}/*/ports/1"
    pkeys = (PKEY.fullmatch(text.strip()) for _, text in seen.match(f"{port}/pkeys/0"))
    lids = (LID.fullmatch(text.strip()) for _, text in seen.match(f"{port}/lid"))
    return Place(
        pkey=_one(int(hit[1], 16) if hit else 0 for hit in pkeys),
        lid=_one(int(hit[1], 16) if hit else 0 for hit in lids),
    )


def _one(numbers: Iterable[int]) -> int | None:
    """Return the number that all are; 0 is none, and no port has it."""
    found = set(numbers)
    return found.pop() or None if len(found) == 1 else None


def may_talk(one: int | None, other: int | None) -> bool:
    """Return whether two ports can reach each other by these P_Keys; not where one is unknown."""
    if one is None or other is None or one & NUMBER != other & NUMBER:
        return False
    return bool((one | other) & FULL)
