"""Open files of the whole system against the kernel's limit."""

import re

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

PATH = "/proc/sys/fs/file-nr"
# 21984	0	9223372036854775807
COUNTS = re.compile(r"(?P<used>\d{1,20})\s+\d+\s+(?P<most>\d{1,20})")


class FileDescriptors(Observation, frozen=True, kw_only=True):
    """Open file handles in use, and the most that the kernel gives out."""

    used: int
    most: int
    text: str


async def collect(node: Node, wanted: Wanted) -> FileDescriptors | Missing:
    """Read the kernel's count."""
    del wanted
    seen = await node.files(PATH)
    if isinstance(seen, Missing):
        return seen
    counts = parse(seen.get(PATH) or "")
    if counts is None:
        return Missing(what="FileDescriptors", cause=Cause.GARBLED, detail=f"{PATH} has no counts")
    return counts


def parse(text: str) -> FileDescriptors | None:
    """Return the counts of file-nr, or None where it is not whole."""
    hit = COUNTS.fullmatch(text.strip())
    return hit and FileDescriptors(used=int(hit["used"]), most=int(hit["most"]), text=hit[0])
