"""Read a log as blocks of plain bytes, packed with gzip, zstd, xz or not at all."""

import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import Protocol

from collectors.logs.pieces import BLOCK

# The first bytes decide, not the name: logs are renamed, rotated and piped.
GZIP, ZSTD, XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00"
PACKED = (GZIP, ZSTD, XZ)


class Damaged(Exception):  # noqa: N818 - the log is, no program erred
    """A packed log that ends too early or is garbled; what was read before it holds."""


class Readable(Protocol):
    """A binary file, packed or not."""

    def read(self, size: int, /) -> bytes:
        """Return at most *size* of the next bytes, unpacked."""
        ...


def blocks(handle: BufferedReader) -> Iterator[bytes]:
    """Yield plain bytes, at most `BLOCK` at once; raises Damaged where packed data is broken."""
    reader = _opened(handle)
    try:
        while block := reader.read(BLOCK):
            yield block
    except OSError as problem:
        # gzip reports damage as a bare OSError; one with an errno is the machine's.
        if problem.errno is not None:
            raise
        raise Damaged(_clause(problem)) from None
    except (EOFError, zlib.error, lzma.LZMAError) as problem:
        raise Damaged(_clause(problem)) from None
    except Exception as problem:
        # ZstdError has no base of its own, and its module is imported for .zst alone.
        if type(problem).__name__ != "ZstdError":
            raise
        raise Damaged(_clause(problem)) from None


def _opened(handle: BufferedReader) -> Readable:
    head = handle.peek(len(XZ))
    if head.startswith(GZIP):
        return gzip.GzipFile(fileobj=handle)
    if head.startswith(XZ):
        return lzma.LZMAFile(handle)
    if head.startswith(ZSTD):
        return _zstd(handle)
    return handle


def _zstd(handle: BufferedReader) -> Readable:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - for .zst alone
    else:
        from backports import zstd  # noqa: PLC0415 - for .zst alone
    return zstd.ZstdFile(handle)


def _clause(problem: Exception) -> str:
    return f"its packed data is cut short or damaged: {problem}"
