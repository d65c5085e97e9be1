"""Every refusal is a problem document, whoever refuses: parser, router, route, store, a bug."""

import asyncio
import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from aggregator.store.protocol import StoreError
from tests.aggregator.conftest import Box

TYPE = "application/problem+json"


async def spoken(box: Box, request: bytes) -> tuple[int, str, Any]:
    """Send bytes; return status, content type and document of what is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", box.port)
    writer.write(request)
    async with asyncio.timeout(10):
        status = int((await reader.readline()).split()[1])
        headers = dict[str, str]()
        while line := (await reader.readline()).decode().strip():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        body = await reader.readexactly(int(headers["content-length"]))
    writer.close()
    return status, headers["content-type"].partition(";")[0], json.loads(body)


@pytest.mark.parametrize(
    ("request_line", "status", "detail"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "this is no HTTP/1.1"),
        (b"GET\r\n\r\n", 400, "this is no HTTP/1.1 request"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, "this is no HTTP/1.1 request"),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400, "this is no HTTP/1.1 request"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 431, "a line of a request may have"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", 431, "a line of a request may"),
        (b"GET /v1/nodes HTTP/1.1\r\nHost: a\r\n\r\n", 401, "give a credential"),
        (b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n", 404, "there is nothing of this name"),
        (b"PUT /v1/nodes HTTP/1.1\r\nHost: a\r\n\r\n", 405, "PUT is not for this path"),
        (b"POST /v1/pause HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417, "only 100-continue"),
    ],
)
async def test_spoken(box: Box, request_line: bytes, status: int, detail: str) -> None:
    """Whatever is sent, what comes back says in one document what is wrong with it."""
    found, kind, problem = await spoken(box, request_line)
    assert (status, TYPE, status, True) == (
        found,
        kind,
        problem["status"],
        problem["detail"].startswith(detail),
    ), problem


async def test_members(box: Box) -> None:
    """A problem has the members of RFC 9457, and the path that was asked."""
    _, _, problem = await spoken(box, b"GET /v1/none HTTP/1.1\r\nHost: a\r\n\r\n")
    expected = {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "there is nothing of this name",
        "instance": "/v1/none",
    }
    assert expected == problem


class Broken:
    """A store whose every answer is the same failure."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def __getattr__(self, name: str) -> Any:
        async def fail(*_: object) -> None:
            raise self.failure

        return fail


@pytest.mark.parametrize(
    ("failure", "status", "detail"),
    [
        (StoreError("disk I/O error at sector 9"), 503, "the store could not keep or read it"),
        (RuntimeError("secret inner state"), 500, "the aggregator itself failed; see its log"),
    ],
)
async def test_failures(box: Box, failure: Exception, status: int, detail: str) -> None:
    """A failing store is 503, a bug of ours 500; neither shows what went wrong, the log does."""
    viewer = await box.credential("viewer")
    await box.send("GET", "/v1/nodes", viewer)
    whole, box.aggregator.store = box.aggregator.store, Broken(failure)
    with capture_logs() as logged:
        async with box.client.get("/v1/nodes", headers=viewer) as answer:
            text = await answer.text()
            kind = answer.content_type
    box.aggregator.store = whole
    assert (status, TYPE, True, False, ["error"]) == (
        answer.status,
        kind,
        detail in text,
        str(failure) in text,
        [line["log_level"] for line in logged],
    )


async def test_expected(box: Box) -> None:
    """Who waits for 100 before he sends a body gets it, and then his answer."""
    operator = await box.credential("operator")
    asked = {"paused": True, "reason": "looked at"}
    status, _ = await box.send("POST", "/v1/pause", operator, json=asked, expect100=True)
    assert 200 == status
