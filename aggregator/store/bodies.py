"""JSON under zstd, as all larger values lie in a store."""

import sys
import threading
from typing import Any

import msgspec

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 3
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class _Own(threading.local):
    """One compressor a thread for all bodies: to make one takes longer than to compress with it."""

    def __init__(self) -> None:
        self.compressor = zstd.ZstdCompressor(LEVEL)


_own = _Own()


def pack(value: object) -> bytes:
    """Return *value* as JSON under zstd."""
    return _own.compressor.compress(_encode(value), zstd.ZstdCompressor.FLUSH_FRAME)


def unpack(packed: bytes | None) -> Any:  # noqa: ANN401 - whatever was packed
    """Return what was packed, None for nothing; only for what this store wrote itself."""
    return None if packed is None else _decode(zstd.decompress(packed))


def text(packed: bytes) -> bytes:
    """Return the JSON of what was packed."""
    return zstd.decompress(packed)
