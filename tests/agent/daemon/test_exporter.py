"""The endpoint for Prometheus: one page, and a plain no for everything else."""

import asyncio
import urllib.request
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from agent.daemon import exporter
from agent.daemon.exporter import HEAD_CAP, MOST_PEERS, Exporter
from tests.agent.daemon.virtual import Said

PAGE = b"gpudiag_up 1\n"


class Heard(Said):
    """A log that tells when the first line came."""

    def __init__(self) -> None:
        super().__init__()
        self.something = asyncio.Event()

    def info(self, event: str, /, **facts: Any) -> None:
        super().info(event, **facts)
        self.something.set()


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """Serve on a free port."""
    probe = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    free: int = probe.sockets[0].getsockname()[1]
    probe.close()
    said = Heard()
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(Exporter(f"127.0.0.1:{free}", lambda: PAGE, said).run())
        await said.something.wait()
        yield free
        serving.cancel()


async def talk(port: int, request: bytes) -> bytes:
    """Return all that is answered until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionResetError:
        # It hung up with some of what was said unread.
        return b""
    finally:
        writer.close()


async def test_a_scraper_gets_the_page(port: int) -> None:
    """An HTTP client reads status, type and the whole page; HEAD has the length alone."""

    def scrape() -> tuple[int, str | None, bytes]:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics?a=b", timeout=10) as got:
            return got.status, got.headers["Content-Type"], got.read()

    asked = await asyncio.get_running_loop().run_in_executor(None, scrape)
    head = await talk(port, b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n")

    assert ((200, exporter.TYPE, PAGE), True, b"") == (
        asked,
        f"Content-Length: {len(PAGE)}".encode() in head,
        head.partition(b"\r\n\r\n")[2],
    )


async def test_a_taken_port_is_said_once_in_one_line_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The line names the address, why and what to do; served it is as soon as the port is free."""
    monkeypatch.setattr(exporter, "AGAIN_S", 0.01)
    said = Heard()
    taken = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    address = f"127.0.0.1:{taken.sockets[0].getsockname()[1]}"
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(Exporter(address, lambda: PAGE, said).run())
        await asyncio.sleep(0.2)
        errors = [facts for event, facts in said.lines if event == "metrics_not_served"]
        taken.close()
        await said.something.wait()
        serving.cancel()

    assert [(address, "address already in use")] == [(e["address"], e["why"]) for e in errors]


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET / HTTP/1.1", b"404 Not Found"),
        (b"GET /metrics/../etc/passwd HTTP/1.1", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1", b"405 Method Not Allowed"),
        (b"GET /metrics HTTP/2.0", b"400 Bad Request"),
        (b"\x16\x03\x01\x02\x00", b"400 Bad Request"),
        (b"GET /" + b"a" * 2 * HEAD_CAP, b"431 Request Header Fields Too Large"),
    ],
)
async def test_everything_else_is_a_no(port: int, request_line: bytes, status: bytes) -> None:
    """Another path, verb, version, TLS where there is none, a head without end: one line each."""
    said = await talk(port, request_line + b"\r\n\r\n")

    assert b"HTTP/1.1 " + status == said.partition(b"\r\n")[0]


async def test_callers_who_say_nothing_hold_up_no_other_for_long(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All places are taken by silence: one more is turned away, and served after their time."""
    monkeypatch.setattr(exporter, "PATIENCE_S", 0.5)
    ask = partial(talk, port, b"GET /metrics HTTP/1.1\r\n\r\n")
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_PEERS)]
    turned_away = await ask()
    for reader, writer in silent:
        assert b"" == await reader.read()
        writer.close()
    served = await ask()

    assert (b"", b"HTTP/1.1 200 OK") == (turned_away, served.partition(b"\r\n")[0])
