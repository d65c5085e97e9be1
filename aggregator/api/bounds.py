"""How much of anything a request may bring."""

import asyncio
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Protocol

import msgspec
from aiohttp import web

from aggregator.api.problem import Handler, Problem

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

QUERY = 2048
PATH = 2048
HEADERS = 64
HEADER_BYTES = 16_384
# What aiohttp's parser itself bears in one line; over it the answer is a bare 400.
PARSER_LINE = 65_536
DOCUMENT = 65_536
PIECE = 262_144


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of POST /v1/reports: bytes as sent and unpacked, lines, seconds for the body.

    `in_flight` is for all bodies that are read or judged at the same time, unpacked.
    """

    sent: int = 4 * 2**20
    unpacked: int = 16 * 2**20
    lines: int = 1000
    line: int = 2**20
    seconds: float = 30.0
    in_flight: int = 256 * 2**20


@web.middleware
async def bounded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse long paths, queries and headers before anything else looks at them."""
    if len(request.raw_path) > PATH + QUERY or len(request.query_string) > QUERY:
        raise Problem(HTTPStatus.REQUEST_URI_TOO_LONG, f"a query may have {QUERY} bytes")
    headers = request.raw_headers
    if len(headers) > HEADERS or sum(len(k) + len(v) for k, v in headers) > HEADER_BYTES:
        raise Problem(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"at most {HEADERS} headers with {HEADER_BYTES} bytes together",
        )
    return await handler(request)


class Unpacker(Protocol):
    """A decompressor that can be stopped: `needs_input` tells when it wants more."""

    @property
    def eof(self) -> bool:
        """Whether the end mark was seen."""

    @property
    def needs_input(self) -> bool:
        """Whether it holds nothing more that could be unpacked."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return at most *max_length* bytes."""


class Gzip:
    """zlib's gzip with the interface of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        """Whether the end mark was seen."""
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        """Whether it holds nothing more that could be unpacked."""
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return at most *max_length* bytes."""
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


async def body(
    request: web.Request,
    *,
    sent: int,
    unpacked: int,
    seconds: float,
    hold: Callable[[int], None] = lambda _: None,
) -> bytearray:
    """Read the body within its bounds; *hold* is told of each piece, and may refuse it."""
    if (request.content_length or 0) > sent:
        raise _too_large(sent, "as sent")
    unpacker = _unpacker(request)
    try:
        async with asyncio.timeout(seconds):
            whole = bytearray()
            async for piece in _pieces(request, unpacker, sent):
                hold(len(piece))
                whole += piece
                if len(whole) > unpacked:
                    raise _too_large(unpacked, "unpacked")
    except TimeoutError:
        raise Problem(
            HTTPStatus.REQUEST_TIMEOUT, f"the body did not come within {seconds:.0f} s"
        ) from None
    except (zlib.error, zstd.ZstdError):
        raise Problem(
            HTTPStatus.BAD_REQUEST, "the body is not what Content-Encoding says"
        ) from None
    if unpacker is not None and not unpacker.eof:
        raise Problem(HTTPStatus.BAD_REQUEST, "the compressed body ends too early")
    return whole


async def _pieces(
    request: web.Request, unpacker: Unpacker | None, sent: int
) -> AsyncIterator[bytes]:
    total = 0
    async for chunk in request.content.iter_any():
        total += len(chunk)
        if total > sent:
            raise _too_large(sent, "as sent")
        if unpacker is None:
            yield chunk
            continue
        data = chunk
        while not unpacker.eof:
            yield unpacker.decompress(data, PIECE)
            data = b""
            if unpacker.needs_input:
                break
            await asyncio.sleep(0)


def _unpacker(request: web.Request) -> Unpacker | None:
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding == "zstd":
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 23})
    if encoding == "gzip":
        return Gzip()
    if encoding == "identity":
        return None
    raise Problem(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "Content-Encoding may be zstd, gzip or identity",
        headers={"Accept-Encoding": "zstd, gzip, identity"},
    )


def _too_large(most: int, how: str) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {most} bytes {how}", limit=most
    )
