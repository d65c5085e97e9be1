"""Kubernetes' API server, asked over HTTP with the token of a service account.

The client library costs 72 MiB and is of no use on a node: a few verbs on one node's objects are
all that is needed. Whatever it answers is bounded, and read as what anybody could have written.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

OK = range(200, 300)
CONFLICT, GONE, TOO_MANY, NOT_FOUND = 409, 410, 429, 404
# Asked once more: the server is busy, or on its way to another.
PASSING = frozenset({TOO_MANY, 500, 502, 503, 504})
TIMEOUT = aiohttp.ClientTimeout(total=15.0, connect=5.0)
ANSWER_CAP = 8 << 20
TOKEN_CAP = 16 << 10
WAIT_S, MOST_WAIT_S = 1.0, 30.0
MOST_WORDS = 240
MERGE = "application/merge-patch+json"
STATUS = "application/strategic-merge-patch+json"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: 0 where nothing did, or nothing that can be read; `why` is in words.

    `wait_s` is how long the server wants not to be asked.
    """

    status: int
    body: Mapping[str, Any] = {}
    why: str = ""
    wait_s: float = WAIT_S

    @property
    def ok(self) -> bool:
        """Return whether it did what was asked."""
        return self.status in OK


class ApiServer:
    """One server; *token* reads the file anew each time, because tokens are changed hourly."""

    def __init__(
        self,
        url: str,
        token: Callable[[], Awaitable[str]],
        tls: ssl.SSLContext | None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._tls = tls
        self.sleep = sleep

    async def once(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, kind: str = MERGE
    ) -> Reply:
        """Ask once; never raises for what the other side does."""
        try:
            token = await self._token()
            headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
            sent = None if body is None else msgspec.json.encode(body)
            if sent is not None:
                headers["Content-Type"] = kind if method == "PATCH" else "application/json"
            async with (
                aiohttp.ClientSession(timeout=TIMEOUT) as session,
                session.request(
                    method,
                    self._url + path,
                    data=sent,
                    headers=headers,
                    ssl=self._tls or True,
                    allow_redirects=False,
                ) as answer,
            ):
                text = await _whole(answer)
                return _read(answer.status, text, answer.headers.get("Retry-After"))
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as problem:
            said = str(problem) or type(problem).__name__
            return Reply(status=0, why=f"no answer of {urlsplit(self._url).netloc}: {said}"[:300])

    async def get(self, path: str, until: float) -> Reply:
        """Read, and ask again while the server is busy or silent, until *until* of the loop."""
        loop = asyncio.get_running_loop()
        while True:
            reply = await self.once("GET", path)
            passes = reply.status == 0 or reply.status in PASSING
            if not passes or loop.time() + reply.wait_s >= until:
                return reply
            await self.sleep(reply.wait_s)

    async def listed(self, path: str, until: float) -> list[Mapping[str, Any]] | Reply:
        """Return all items of a list, page by page; one that has expired is begun anew."""
        items: list[Mapping[str, Any]] = []
        page, begun = "", 0
        while True:
            reply = await self.get(f"{path}&limit=200{page}", until)
            if reply.status == GONE and begun < 3:  # noqa: PLR2004 - the list changes faster than we read
                items, page, begun = [], "", begun + 1
                continue
            if not reply.ok:
                return reply
            found = reply.body.get("items")
            items += [one for one in found if isinstance(one, dict)] if found else []
            meta = reply.body.get("metadata")
            goes_on = meta.get("continue") if isinstance(meta, dict) else None
            if not isinstance(goes_on, str) or not goes_on or len(items) > 4096:  # noqa: PLR2004 - no node has so many pods
                return items
            page = f"&continue={_quoted(goes_on)}"


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    """Return the body; a torn one, or one that is too long, is no answer."""
    pieces = bytearray()
    async for piece in answer.content.iter_chunked(65_536):
        pieces += piece
        if len(pieces) > ANSWER_CAP:
            raise ValueError(f"over {ANSWER_CAP >> 20} MiB")
    return bytes(pieces)


def _read(status: int, text: bytes, retry: str | None) -> Reply:
    wait_s = min(float(retry), MOST_WAIT_S) if retry and retry.isdecimal() else WAIT_S
    try:
        body = msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except (msgspec.DecodeError, RecursionError):
        why = f"it answers {status} with what is no JSON"
        return Reply(status=0 if status in OK else status, why=why, wait_s=wait_s)
    said = body.get("message")
    words = said if isinstance(said, str) else ""
    plain = "".join(c if c.isprintable() else " " for c in words)[:MOST_WORDS]
    return Reply(status=status, body=body, why=f"it answers {status}: {plain}", wait_s=wait_s)


def _quoted(text: str) -> str:
    return "".join(c if c.isalnum() or c in "-_.~" else f"%{ord(c):02X}" for c in text[:4096])
