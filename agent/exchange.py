"""One request to the aggregator and its answer, by h11 over a connection that is kept a moment.

aiohttp's client does the same and is 10 MiB on each node.
"""

import asyncio
import contextlib
import errno
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

import h11
import msgspec

from agent import BUILD

# A server may close what nobody uses; so long none does.
IDLE_S = 10.0
READ = 64 << 10
SECOND_ADDRESS_S = 0.25
HUNG_UP = "it closed the connection and did not answer"
# Which of these comes, or a plain end, depends on how far the request was by then.
RESET = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED)
PORTS = {"http": 80, "https": 443}


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds until it is given up: for the whole, to connect, and for each part of the answer."""

    total_s: float = 60.0
    connect_s: float = 10.0
    read_s: float = 30.0


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A final answer; `retry_after` is "" without one, `body` what came up to the cap."""

    status: int
    retry_after: str = ""
    body: bytes = b""


class Unanswered(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """There was no answer; its text says why in one line."""


class Exchange:
    """Asks one server, one request at a time; no redirect is followed, no cookie kept."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        self._base = url.rstrip("/")
        self._tls = tls
        self._open: _Connection | None = None

    @property
    def _url(self) -> SplitResult:
        return urlsplit(self._base)

    def close(self) -> None:
        """Close the connection, if there is one; the next request opens another."""
        if self._open is not None:
            self._open.close()
        self._open = None

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] = {},
        *,
        cap: int,
        waits: Waits | None = None,
    ) -> Reply:
        """Return the answer, its body up to *cap* bytes; raise Unanswered where there is none."""
        waits = waits or Waits()
        again = False
        try:
            async with asyncio.timeout(waits.total_s):
                connection = await self._connected(waits)
                request = self._request(method, path, body, headers)
                reply = await connection.ask(request, body, cap, waits.read_s)
            again = connection.again()
        except TimeoutError:
            raise Unanswered("no answer in time") from None
        except h11.RemoteProtocolError as problem:
            raise Unanswered(f"what it answers is not HTTP: {problem}"[:200]) from None
        except OSError as problem:
            raise Unanswered(_told(problem)) from None
        # ValueError: a port or a name that no address can have, a token that is no text.
        except (h11.LocalProtocolError, ValueError) as problem:
            raise Unanswered(f"it cannot be asked this: {problem}"[:200]) from None
        finally:
            # What is under way when it fails or is cancelled would be taken for the next answer.
            if not again:
                self.close()
        return reply

    def _request(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> h11.Request:
        given = {
            "Host": self._url.netloc.rpartition("@")[2],
            "User-Agent": BUILD.replace(" ", "/"),
            "Accept": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }
        named = [(name.encode(), value.encode()) for name, value in given.items()]
        return h11.Request(method=method, target=self._url.path + path, headers=named)

    async def _connected(self, waits: Waits) -> "_Connection":
        if self._open is not None and self._open.usable():
            return self._open
        self.close()
        async with asyncio.timeout(waits.connect_s):
            reader, writer = await asyncio.open_connection(
                self._url.hostname or "",
                self._url.port or PORTS.get(self._url.scheme, PORTS["http"]),
                ssl=(self._tls or True) if self._url.scheme == "https" else None,
                happy_eyeballs_delay=SECOND_ADDRESS_S,
            )
        self._open = _Connection(reader, writer)
        return self._open


class _Connection:
    """One connection, and where both ends stand in HTTP/1.1."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._state = h11.Connection(h11.CLIENT)
        self._since = 0.0

    def usable(self) -> bool:
        """Return whether it is still open, and not idle for so long that it may be closing."""
        idle_s = asyncio.get_running_loop().time() - self._since
        return not self._reader.at_eof() and not self._writer.is_closing() and idle_s < IDLE_S

    def again(self) -> bool:
        """Make it ready for another request; return whether both ends agree to that."""
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE:
            return False
        self._state.start_next_cycle()
        self._since = asyncio.get_running_loop().time()
        return True

    async def ask(self, request: h11.Request, body: bytes, cap: int, read_s: float) -> Reply:
        """Send it, and return what comes back; what is beyond *cap* is not read."""
        parts = (request, h11.Data(data=body), h11.EndOfMessage())
        # Not waited for: a server may refuse a body before it has all of it.
        self._writer.write(b"".join(self._state.send(part) or b"" for part in parts))
        text, head = bytearray(), None
        async with contextlib.aclosing(self._events(read_s)) as events:
            async for event in events:
                if isinstance(event, h11.Response):
                    head = event
                elif isinstance(event, h11.Data):
                    text += event.data
                if len(text) >= cap:
                    break
        assert head is not None
        wait = next((value for name, value in head.headers if name == b"retry-after"), b"")
        body = bytes(text[:cap])
        return Reply(status=head.status_code, retry_after=wait.decode("latin-1"), body=body)

    async def _events(self, read_s: float) -> AsyncGenerator[h11.Event]:
        """Yield what comes up to the end of the answer."""
        event: Any = None
        while not isinstance(event, h11.EndOfMessage):
            event = self._state.next_event()
            if event is h11.NEED_DATA:
                async with asyncio.timeout(read_s):
                    data = await self._reader.read(READ)
                if not data and self._state.their_state is h11.SEND_RESPONSE:
                    raise ConnectionError(HUNG_UP)
                self._state.receive_data(data)
            elif isinstance(event, h11.Event):
                yield event
            else:
                raise ConnectionError("it goes on in another protocol")

    def close(self) -> None:
        """Close it at once; the answer, if any, was read."""
        self._writer.transport.abort()


def _told(problem: OSError) -> str:
    """Return one line of what TLS or the system says, without the names of functions."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not believed: {problem.verify_message}"[:200]
    if isinstance(problem, ssl.SSLError):
        return f"TLS: {problem.reason or problem}"[:200].replace("_", " ").lower()
    if problem.errno in RESET:
        return HUNG_UP
    if isinstance(problem, socket.gaierror) or not problem.errno:
        return (problem.strerror or str(problem) or type(problem).__name__)[:200]
    return os.strerror(problem.errno)
