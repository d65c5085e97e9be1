"""Prometheus asks here: GET /metrics on a loopback address, answered from what was seen already.

One page, no body, no state between requests: an HTTP library would be 17 MiB on every node for it.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable
from http import HTTPStatus

from agent.daemon.log import Log

TYPE = "text/plain; version=0.0.4; charset=utf-8"
HEAD_CAP = 16 << 10
MOST_PEERS = 16
PATIENCE_S = 10.0
# What has the port may end, or an address come up.
AGAIN_S = 60.0
# GET /metrics?x=1 HTTP/1.1      (RFC 9112, 3: a proxy may write the whole URL as target)
REQUEST = re.compile(
    rb"(?P<method>[A-Z]{1,20}) (?:http://[^/\s]{1,255})?(?P<path>/[^\s?]*)(?:\?\S*)?"
    rb" HTTP/1\.[01]\r\n"
)


class Exporter:
    """Serves the newest page; *page* makes it once a walk, whoever asks how often."""

    def __init__(self, address: str, page: Callable[[], bytes], log: Log) -> None:
        host, _, port = address.rpartition(":")
        self._host = host.strip("[]")
        self._port = int(port)
        self._page = page
        self._log = log
        self._peers = 0

    async def run(self) -> None:
        """Serve for ever."""
        server = await self._bound()
        self._log.info("metrics_served", address=f"{self._host}:{self._port}")
        try:
            # Not serve_forever(): its end waits for every caller that has not hung up.
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()

    async def _bound(self) -> asyncio.Server:
        """Return the server; an address that is not to be had is said once, and tried again."""
        said = False
        while True:
            try:
                return await asyncio.start_server(
                    self._serve, self._host, self._port, limit=HEAD_CAP, backlog=MOST_PEERS
                )
            except OSError as problem:
                if not said:
                    self._refused(problem)
                said = True
            await asyncio.sleep(AGAIN_S)

    def _refused(self, problem: OSError) -> None:
        # error while attempting to bind on address ('127.0.0.1', 9836): address already in use
        why = (problem.strerror or str(problem)).rpartition(": ")[2]
        self._log.error(
            "metrics_not_served",
            address=f"{self._host}:{self._port}",
            why=why,
            help=f"name another one as metrics in [agent]; tried again every {AGAIN_S:.0f} s",
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._peers += 1
        try:
            if self._peers <= MOST_PEERS:
                async with asyncio.timeout(PATIENCE_S):
                    writer.write(await self._reply(reader))
                    await writer.drain()
        except (OSError, TimeoutError, EOFError):
            # The caller left, or said nothing: it is owed no answer.
            pass
        finally:
            self._peers -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _reply(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return response(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if (hit := REQUEST.match(head)) is None:
            return response(HTTPStatus.BAD_REQUEST)
        if hit["path"] != b"/metrics":
            return response(HTTPStatus.NOT_FOUND)
        if hit["method"] not in (b"GET", b"HEAD"):
            return response(HTTPStatus.METHOD_NOT_ALLOWED)
        return response(HTTPStatus.OK, self._page(), shown=hit["method"] == b"GET")


def response(status: HTTPStatus, body: bytes | None = None, *, shown: bool = True) -> bytes:
    """Return a whole answer, after which the connection ends; for HEAD the body is not *shown*."""
    said = f"{status.value} {status.phrase}\n".encode() if body is None else body
    head = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {TYPE}",
        f"Content-Length: {len(said)}",
        "Connection: close",
    ]
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        head.append("Allow: GET, HEAD")
    return "\r\n".join([*head, "", ""]).encode() + (said if shown else b"")
