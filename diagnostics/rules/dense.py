"""Lines that differ in their times alone, put together without looking at each of them.

A log that is full of one line is the slowest to read: every line of it hits. Here its lines are
compared by what Python does to many at once, and one of each kind goes through the search.
"""

import re
from collections import Counter

import msgspec

from diagnostics.rules.stamp import stamp

# More kinds than this share of the lines are no repetition.
MOST = 0.25
LEAST_LINES = 64

# Digits of a time are all alike; what stands behind the time is compared as it is.
ZEROS = bytes.maketrans(b"123456789", b"000000000")

# What differs between Xids of one kind on one GPU and tells nothing of what they are.
XID = b"NVRM: Xid ("
# Each begins with letters, and none has a choice of them: so it is found five times as fast.
PASSING = tuple(
    (head, re.compile(re.escape(head) + rest), left)
    for head, rest, left in (
        (
            b", pid=",
            rb"'?\d{1,10}'?, name=[^,\n]{1,64}, Ch [0-9a-f]{8}, intr [0-9a-f]{8}",
            b", pid, name, Ch, intr",
        ),
        (b", pid=", rb"'?\d{1,10}'?, name=[^,\n]{1,64}", b", pid, name"),
        (b", pid=", rb"'?\d{1,10}'?", b", pid"),
        (b", name=", rb"[^,\n]{1,64}", b", name"),
        (b", Ch ", rb"[0-9a-f]{8}", b", Ch"),
        (b", Channel ID ", rb"[0-9a-f]{8}", b", Ch"),
        (b", intr ", rb"[0-9a-f]{8}", b", intr"),
        (b"@ 0x", rb"[0-9a-f_]{1,20}", b"@"),
        (b"physAddr 0x", rb"[0-9a-f]{1,16}", b"physAddr"),
    )
)
# The driver's sentence that needs the lines above it.
IN_PIECES = b"NVRM: fallen off"


class Kind(msgspec.Struct, frozen=True):
    """Equal lines: the first and the last of them, their numbers from 0, and how many they are.

    Their `text` begins at `at`, behind a stamp of the kind that it names.
    """

    first: int
    last: int
    count: int
    line: bytes
    last_line: bytes
    at: int
    text: tuple[str | None, bytes]


def kinds(piece: bytes) -> list[Kind] | None:
    """Return the kinds of lines in their order; None where they are too many, or not surely told.

    A stamp that says its facility in digits is such a case.
    """
    if IN_PIECES in piece:
        return None
    lines = piece.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if len(lines) < LEAST_LINES:
        return None
    told = lasting(piece).split(b"\n") if XID in piece else lines
    shapes = piece.translate(ZEROS).split(b"\n") if told is lines else _zeros(told)
    most = int(len(lines) * MOST)
    if len(set(shapes)) > most:
        return None
    of: dict[bytes, list[int]] = {}
    for number, shape in enumerate(shapes[: len(lines)]):
        if shape in of:
            of[shape].append(number)
        else:
            of[shape] = [number]
    found: list[Kind] = []
    for numbers in of.values():
        behind = _behind(told[numbers[0]])
        if behind is None:
            return None
        at, stamped = behind
        texts = [told[number][at:] for number in numbers]
        first = dict(zip(reversed(texts), reversed(numbers), strict=True))
        last = dict(zip(texts, numbers, strict=True))
        if len(found) + len(first) > most:
            return None
        found += (
            Kind(
                first=first[text],
                last=last[text],
                count=count,
                line=lines[first[text]],
                last_line=lines[last[text]],
                at=at,
                text=(stamped, text),
            )
            for text, count in Counter(texts).items()
        )
    return sorted(found, key=lambda kind: kind.first)


def lasting(text: bytes) -> bytes:
    """Return lines of Xids without what differs between those of one kind."""
    for head, passing, left in PASSING:
        if head in text:
            text = passing.sub(left, text)
    return text


def _zeros(told: list[bytes]) -> list[bytes]:
    return b"\n".join(told).translate(ZEROS).split(b"\n")


def _behind(line: bytes) -> tuple[int, str | None] | None:
    """Return where the text behind the time begins, and what sort of time that is."""
    found = stamp(line, 0, len(line))
    if found is None:
        return 0, None
    return None if found["kmsg"] or found["level"] else (found.end(), found.lastgroup)
