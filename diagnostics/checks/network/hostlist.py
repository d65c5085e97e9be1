"""Slurm's way to write many hosts: `gpu-[017-019,033],login1`."""

import re
from collections.abc import Iterator

MOST = 16_384
LENGTH = 65_536

# gpu-[017-019,033]        login1
PART = re.compile(r"(?P<before>[^\[\],\s]{0,128})(?:\[(?P<inside>[0-9,-]{1,4096})\])?(?:,|$)")
# 017-019
SPAN = re.compile(r"(?P<first>[0-9]{1,8})(?:-(?P<last>[0-9]{1,8}))?")


def hosts(text: str) -> frozenset[str]:
    """Return the hosts; nothing at all where the text is of another form, or names too many."""
    found: set[str] = set()
    at, end = 0, min(len(text), LENGTH)
    while at < end:
        hit = PART.match(text, at, end)
        if hit is None or hit.end() == at:
            return frozenset()
        for name in _names(hit["before"], hit["inside"]):
            found.add(name)
            if len(found) > MOST:
                return frozenset()
        at = hit.end()
    return frozenset(found)


def _names(before: str, inside: str | None) -> Iterator[str]:
    if inside is None:
        if before:
            yield before
        return
    for span in inside.split(","):
        hit = SPAN.fullmatch(span)
        if hit is None:
            continue
        first, last = int(hit["first"]), int(hit["last"] or hit["first"])
        for number in range(first, min(last, first + MOST) + 1):
            yield f"{before}{number:0{len(hit['first'])}}"
