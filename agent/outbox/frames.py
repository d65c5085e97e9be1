"""One record on disk: a header with its length, check sum and sequence number, then its bytes."""

import struct
import zlib
from collections.abc import Iterator

import msgspec

# No UTF-8 text holds this first byte, so a search for the next record finds no false one in a body.
MAGIC = b"\xf5gd1"
HEADER = struct.Struct("<4sIIQ")
REST = struct.Struct("<IQ")
LONGEST = 16 << 20


class Frame(msgspec.Struct, frozen=True):
    """A whole record and where it ends."""

    sequence: int
    body: bytes
    end: int


class Hole(msgspec.Struct, frozen=True):
    """Bytes that are no record; `before` is the number of the next whole one, None at the end."""

    at: int
    before: int | None


def pack(sequence: int, body: bytes) -> bytes:
    """Return the bytes of one record; *sequence* is below 2^64."""
    check = zlib.crc32(body, zlib.crc32(REST.pack(len(body), sequence)))
    return HEADER.pack(MAGIC, len(body), check, sequence) + body


def unpack(data: bytes, at: int = 0) -> Frame | None:
    """Return the record that begins at *at*, or None where no whole one does."""
    if at + HEADER.size > len(data):
        return None
    magic, length, check, sequence = HEADER.unpack_from(data, at)
    end = at + HEADER.size + length
    if magic != MAGIC or length > LONGEST or end > len(data):
        return None
    body = data[at + HEADER.size : end]
    if zlib.crc32(body, zlib.crc32(REST.pack(length, sequence))) != check:
        return None
    return Frame(sequence, body, end)


def scan(data: bytes) -> Iterator[Frame | Hole]:
    """Yield all whole records in their order, and a hole for each stretch that is none."""
    at = 0
    while at < len(data):
        frame = unpack(data, at)
        if frame is None:
            frame = _next(data, at)
            yield Hole(at, frame.sequence if frame else None)
            if frame is None:
                return
        yield frame
        at = frame.end


def _next(data: bytes, at: int) -> Frame | None:
    while (at := data.find(MAGIC, at + 1)) >= 0:
        if (frame := unpack(data, at)) is not None:
            return frame
    return None
