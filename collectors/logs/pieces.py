"""Cut a stream of bytes into pieces that end with a line, whatever the stream holds."""

from collections.abc import Iterable, Iterator

# What one block goes through stays in the processor's own cache: a megabyte is a third slower.
BLOCK = 1 << 17
LINE_CAP = 64 << 10


def pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield the bytes of *blocks* in pieces that end with `\n`, but for the last.

    A line ends with LF, CR LF, or CR alone (progress bars); all come out as LF. What a line has
    beyond `LINE_CAP` before its end comes into sight is left out, so that a file without any line
    end takes no more memory than a few blocks. An empty block, for a file that says nothing more
    yet, is answered with an empty piece.
    """
    rest, skipping = b"", False
    for block in _line_feeds(blocks):
        if not block:
            yield block
            continue
        data = rest + block if rest else block
        if skipping:
            end = data.find(b"\n")
            data, skipping = data[max(end, 0) :], end < 0
        if skipping:
            continue
        cut = data.rfind(b"\n") + 1
        if cut:
            yield data[:cut]
        rest = data[cut:]
        if len(rest) > LINE_CAP:
            # This piece ends inside a line; the next one begins with the end of that line.
            yield rest[:LINE_CAP]
            rest, skipping = b"", True
    if rest:
        yield rest


def _line_feeds(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Turn each line end into LF; a CR at the end of a block waits for what follows it."""
    carry = b""
    for block in blocks:
        data = carry + block if carry else block
        if b"\r" not in data:
            # Nearly all logs: one fast look saves two slow ones.
            carry = b""
            yield data
            continue
        carry = b"\r" if data.endswith(b"\r") else b""
        yield data[: len(data) - len(carry)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if carry:
        yield b"\n"


def sliced(data: bytes) -> Iterator[bytes]:
    """Yield *data* in blocks."""
    for start in range(0, len(data), BLOCK):
        yield data[start : start + BLOCK]
