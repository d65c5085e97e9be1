"""One request and its answer, against servers that answer well, oddly, late, falsely or not."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.exchange import Exchange, Reply, Unanswered, Waits
from tests.aggregator.test_tls import certificate

CAP = 1000
SHORT = Waits(total_s=0.3, connect_s=0.3, read_s=0.1)
WELL = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

Says = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Reads one request after the other and answers each by *says*."""

    def __init__(self, says: Says) -> None:
        self._says = says
        self.port = 0
        self.connections = 0
        self.heard = b""
        self.serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def open(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.serving[asyncio.ensure_future(self.serve(reader, writer))] = writer

    async def close(self) -> None:
        """Let go of every connection."""
        for task, writer in self.serving.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*self.serving, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                self.heard += head + await reader.readexactly(length)
                await self._says(reader, writer)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(
    says: Says | bytes, tls: ssl.SSLContext | None = None, kind: type[Server] = Server
) -> AsyncIterator[Server]:
    """Serve on loopback; bytes are said at once, and the connection goes on."""

    async def at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        assert isinstance(says, bytes)
        writer.write(says)

    server = kind(at_once if isinstance(says, bytes) else says)
    listening = await asyncio.start_server(server.open, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.close()


async def asked(server: Server, path: str = "/v1/reports", **more: str) -> Reply:
    """Ask once."""
    with contextlib.closing(Exchange(f"http://127.0.0.1:{server.port}/", None)) as exchange:
        return await exchange.ask("POST", path, b"body", more, cap=CAP, waits=SHORT)


async def why(server: Server, **more: str) -> str:
    """Ask once, and return why there was no answer."""
    with pytest.raises(Unanswered) as told:
        await asked(server, **more)
    return str(told.value)


async def test_an_answer() -> None:
    """Status, body and when to come again; what is sent is one whole request."""
    answer = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nretry-after: 7\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    async with serving(answer) as server:
        reply = await asked(server, Authorization="Bearer x")
    lines = server.heard.split(b"\r\n")
    expected = (
        Reply(status=503, retry_after="7", body=b"abcde"),
        [b"POST /v1/reports HTTP/1.1", f"Host: 127.0.0.1:{server.port}".encode()],
        [b"Content-Length: 4", b"Authorization: Bearer x", b"", b"body"],
    )
    assert expected == (reply, lines[:2], lines[-4:])


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (
            b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            (307, 0),
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5000, (200, CAP)),
        (b"HTTP/1.0 204 No\r\n\r\n", (204, 0)),
    ],
)
async def test_a_redirect_is_an_answer_and_a_long_one_is_cut(
    answer: bytes, reply: tuple[int, int]
) -> None:
    """The token goes to nobody else, and no server fills this node's memory."""
    async with serving(answer) as server:
        got = await asked(server)
    assert (reply, 1) == ((got.status, len(got.body)), server.connections)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "what it answers is not HTTP: "),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, "what it answers is not HTTP: "),
        (b"HTTP/1.1 101 Switch\r\nUpgrade: h2c\r\n\r\n", "what it answers is not HTTP: "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "no answer in time"),
        (b"HTTP/1.1 200 OK\r\n", "no answer in time"),
        (b"", "no answer in time"),
    ],
)
async def test_what_is_no_answer_is_told_in_one_line(answer: bytes, said: str) -> None:
    """Another protocol, a head without end, half an answer, none."""
    async with serving(answer) as server:
        told = await why(server)
    assert (True, False) == (told.startswith(said), "\n" in told or len(told) > 200)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "it closed the connection and did not answer"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            "what it answers is not HTTP: peer closed",
        ),
    ],
)
async def test_who_hangs_up_is_told(answer: bytes, said: str) -> None:
    """Before an answer, or within one."""

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(answer)
        writer.close()

    async with serving(says) as server:
        assert said == (await why(server))[: len(said)]


async def test_a_reset_is_a_hang_up() -> None:
    """One closed before all was read resets it: the same end, told by the same words."""

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.transport.abort()

    async with serving(says) as server:
        assert "it closed the connection and did not answer" == await why(server)


async def test_one_that_drips_is_given_up_by_the_time_for_all() -> None:
    """Each part comes in time, and the whole never."""

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        for _ in range(900):
            writer.write(b"x")
            await asyncio.sleep(0.02)

    async with serving(says) as server:
        assert "no answer in time" == await why(server)


async def test_a_refusal_before_the_body_is_read_is_heard() -> None:
    """A body may be larger than what the other end takes."""

    class Refusing(Server):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 413 Too much\r\nContent-Length: 0\r\n\r\n")
            await asyncio.sleep(60)

    async with serving(b"", kind=Refusing) as server:
        with contextlib.closing(Exchange(f"http://127.0.0.1:{server.port}", None)) as exchange:
            reply = await exchange.ask("POST", "/", b"x" * (32 << 20), cap=CAP, waits=SHORT)
    assert 413 == reply.status


async def test_who_is_not_there_is_told_by_what_the_system_says() -> None:
    """No numbers and no names of functions."""
    told = []
    for url in ("http://127.0.0.1:1", "http://nowhere.invalid"):
        with contextlib.closing(Exchange(url, None)) as exchange:
            with pytest.raises(Unanswered) as problem:
                await exchange.ask("GET", "/", cap=CAP, waits=Waits(total_s=9.0))
            told.append(str(problem.value))
    assert "Connection refused" == told[0]
    assert "[Errno" not in told[1]


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://a..b", "http://[::1"])
async def test_an_address_that_none_can_have_is_told_too(url: str) -> None:
    """It ends no service of the agent: what it says is one line like any other."""
    with pytest.raises(Unanswered, match=r"^it cannot be asked this: .+$"):
        await Exchange(url, None).ask("GET", "/", cap=CAP, waits=SHORT)


async def test_a_token_that_would_be_two_lines_is_not_sent() -> None:
    """What another machine gave as its credential makes no header of its own."""
    async with serving(WELL) as server:
        told = await why(server, Authorization="Bearer x\r\nX-Other: y")
    assert (True, b"") == (told.startswith("it cannot be asked this: "), server.heard)


async def test_a_connection_is_kept_and_what_is_half_read_is_not() -> None:
    """Three requests by one connection; after an answer that was cut, by another."""
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 1500\r\n\r\n" + b"x" * 1500
    answers = iter([WELL, WELL, long, WELL])

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(next(answers))

    async with serving(says) as server:
        seen = []
        with contextlib.closing(Exchange(f"http://127.0.0.1:{server.port}", None)) as exchange:
            for _ in range(4):
                reply = await exchange.ask("GET", "/", cap=CAP, waits=SHORT)
                seen.append((len(reply.body), server.connections))
    assert [(2, 1), (2, 1), (CAP, 1), (2, 2)] == seen


async def test_one_that_the_server_closed_meanwhile_is_not_used() -> None:
    """The next request opens another, and fails nothing."""

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(WELL)
        await writer.drain()
        writer.close()

    async with serving(says) as server:
        with contextlib.closing(Exchange(f"http://127.0.0.1:{server.port}", None)) as exchange:
            for _ in range(3):
                await exchange.ask("GET", "/", cap=CAP, waits=SHORT)
                await asyncio.sleep(0.05)
    assert 3 == server.connections


async def test_an_answer_to_who_no_longer_waits_is_given_to_nobody() -> None:
    """The first answer comes after its request was cancelled; the second request hears its own."""
    numbers = iter(range(2))

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        number = next(numbers)
        await asyncio.sleep(0.1 if number == 0 else 0)
        writer.write(WELL[:-2] + b"%02d" % number)

    async with serving(says) as server:
        with contextlib.closing(Exchange(f"http://127.0.0.1:{server.port}", None)) as exchange:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await exchange.ask("GET", "/", cap=CAP)
            reply = await exchange.ask("GET", "/", cap=CAP)
    assert (b"01", 2) == (reply.body, server.connections)


@pytest.mark.tool("openssl")
async def test_tls_is_believed_by_its_authority_alone(tmp_path: Path) -> None:
    """Of another authority it is not; what speaks no TLS never sees a token."""
    cert, key = certificate(tmp_path, "aggregator")
    other, _ = certificate(tmp_path, "other")
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(cert, key)
    trusting, doubting = (ssl.create_default_context(cafile=str(one)) for one in (cert, other))
    said = []

    class Plain(Server):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.heard += await reader.read(9_000)
            writer.write(b"HTTP/1.1 400 What?\r\n\r\n")

    async with serving(WELL, own) as server, serving(b"", kind=Plain) as plain:
        for port, tls in ((server.port, trusting), (server.port, doubting), (plain.port, trusting)):
            with contextlib.closing(Exchange(f"https://127.0.0.1:{port}", tls)) as exchange:
                try:
                    reply = await exchange.ask("GET", "/", headers={"X": "secret"}, cap=CAP)
                    said.append(str(reply.status))
                except Unanswered as problem:
                    said.append(str(problem))
    assert ["200", "its certificate is not believed: self-signed certificate"] == said[:2]
    assert ("tls: wrong version number", False) == (said[2], b"secret" in plain.heard)


def survives(answer: bytes) -> None:
    """Ask a server that says this and hangs up; there is an answer, or one line."""

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(answer)
        writer.close()

    async def run() -> None:
        async with serving(says) as server:
            with contextlib.suppress(Unanswered):
                assert len((await asked(server)).body) <= CAP

    asyncio.run(run())


@given(st.binary(max_size=300))
def test_whatever_it_says_there_is_an_answer_or_one_line(answer: bytes) -> None:
    """Bytes of any kind, and then the end."""
    survives(answer)


PARTS = (b"HTTP/1.1 ", b"200 ", b"OK", b"\r\n", b"Content-Length: 3", b"abc")


@given(st.lists(st.sampled_from(PARTS), max_size=9))
def test_parts_of_an_answer_in_any_order_too(parts: list[bytes]) -> None:
    """Nearer to HTTP than bytes of any kind are."""
    survives(b"".join(parts))
