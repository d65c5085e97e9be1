"""POST /v1/reports over real HTTP: what is taken, what is refused, and how it is said."""

import asyncio
import gzip
import json
import sys
from typing import Any

import msgspec
import pytest

from aggregator.wire import JobSettings, Way
from tests.aggregator.conftest import Box
from tests.aggregator.reports import lines, report, snapshot

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PATH = "/v1/reports"
LINE = msgspec.json.encode(snapshot())


async def post(box: Box, body: bytes, encoding: str | None = None) -> tuple[int, Any]:
    """Send a body as gpu-001."""
    headers = await box.credential("node", "gpu-001")
    if encoding:
        headers["Content-Encoding"] = encoding
    return await box.send("POST", PATH, headers, data=body)


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [(None, bytes), ("gzip", gzip.compress), ("zstd", zstd.compress)],
    ids=["plain", "gzip", "zstd"],
)
async def test_taken(box: Box, encoding: str | None, packed: Any) -> None:
    """A batch is taken as it is, under gzip and under zstd."""
    body = packed(lines([report(1), snapshot(2)]))
    assert (200, {"accepted": 2}) == await post(box, body, encoding)


async def test_twice(box: Box) -> None:
    """What is sent again counts once, also within one batch."""
    batch = lines([snapshot(1), report(2), snapshot(1)])
    first = await post(box, batch)
    again = await post(box, batch)
    assert ({"accepted": 2, "duplicates": 1}, {"duplicates": 3}) == (first[1], again[1])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"node": NaN}', "not JSON"),
        (LINE.replace(b'"sent":', b'"sent":1e400,"x":'), "Number out of range"),
        (LINE.replace(b'"versions":{', b'"versions":{"a":"1","a":"2",'), "'a' stands twice"),
        (LINE.replace(b'"node":', b'"node":"gpu-002","node":'), "'node' stands twice"),
        (LINE[:-1] + b',"new":' + b"[" * 65 + b"]" * 65 + b"}", "deeper than 64"),
        (LINE[:-1] + b',"new":' + b"[" * 40_000 + b"]" * 40_000 + b"}", "deeper than 64"),
        (LINE.replace(b"S9", b"\\ud800"), "not JSON"),
        (LINE.replace(b"S9", b"\xff"), "not JSON"),
        (LINE.replace(b"S9", b"9" * 100_000), "longer than"),
        (b"[]", "Expected `object`"),
        (b"7", "Expected `object`"),
        (msgspec.json.encode(report(-1)), "sequence: out of its bounds"),
        (msgspec.json.encode(report(2**63)), "sequence: out of its bounds"),
        (msgspec.json.encode(report(sent=1e300)), "sent: out of its bounds"),
        (msgspec.json.encode(report(verdict="fine")), "verdict: out of its bounds"),
        (msgspec.json.encode(report(boot_id="a b")), "boot_id: out of its bounds"),
        (msgspec.json.encode(report(schema="gpudiag.report/2")), "schema:"),
        (msgspec.json.encode(report(kind="snapshot", diagnosis={"findings": [1]})), "diagnosis"),
    ],
)
async def test_refused(box: Box, line: bytes, reason: str) -> None:
    """A line that cannot be taken is named with its reason, and the others are taken."""
    status, receipt = await post(box, lines([report(8)]) + line + b"\n" + lines([report(9)]))
    assert (200, 2, ["1"]) == (status, receipt["accepted"], list(receipt["rejected"]))
    status, problem = await post(box, line)
    assert (422, True) == (status, reason in problem["detail"]), problem


async def test_deep_but_allowed(box: Box) -> None:
    """Sixty nested lists and many brackets in strings are no depth."""
    line = LINE[:-1] + b',"new":' + b"[" * 60 + b'"[[[[[[[["' + b"]" * 60 + b"}"
    assert (200, {"accepted": 1}) == await post(box, line)


async def test_other_node(box: Box) -> None:
    """A node writes its own reports alone."""
    status, problem = await post(box, lines([report(node="gpu-002")]))
    listed = await box.send("GET", "/v1/nodes", await box.credential("viewer"))
    assert (403, "line 0: it is of gpu-002, the credential of gpu-001", []) == (
        status,
        problem["detail"],
        listed[1]["items"],
    )


async def test_next_minor(box: Box) -> None:
    """Keys that a later minor version adds are passed over."""
    assert (200, {"accepted": 1}) == await post(box, LINE[:-1] + b',"later":{"a":[1]}}')


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_bomb(box: Box, encoding: str) -> None:
    """What unpacks to more than the bound is refused when the bound is reached."""
    bomb = b" " * 50_000_000
    packed = gzip.compress(bomb) if encoding == "gzip" else zstd.compress(bomb)
    status, problem = await post(box, packed, encoding)
    assert (413, 1_000_000, True) == (status, problem["limit"], len(packed) < 200_000)


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        (b"x" * 200_001, None, 413),
        (lines(report(n) for n in range(51)), None, 413),
        (b"\n" * 51, None, 413),
        (b"", None, 400),
        (b"\n\n", None, 400),
        (b"no gzip", "gzip", 400),
        (b"no zstd", "zstd", 400),
        (gzip.compress(LINE)[:-9], "gzip", 400),
        (zstd.compress(LINE)[:-9], "zstd", 400),
        (LINE, "br", 415),
    ],
)
async def test_wrong_body(box: Box, body: bytes, encoding: str | None, status: int) -> None:
    """Too much is 413, what is not as it says 400, an unknown encoding 415: each a problem."""
    found, problem = await post(box, body, encoding)
    assert (status, status) == (found, problem["status"])


async def test_chunked_too_large(box: Box) -> None:
    """A body without a length is bounded while it is read."""

    async def endless() -> Any:
        for _ in range(100):
            yield b"x" * 10_000

    headers = await box.credential("node", "gpu-001")
    assert 413 == (await box.send("POST", PATH, headers, data=endless()))[0]


async def test_credential_before_body(box: Box) -> None:
    """Nobody's body is read: the refusal comes while it has not been sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", box.port)
    writer.write(b"POST /v1/reports HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
    status = await reader.readline()
    writer.close()
    assert b"HTTP/1.1 401 Unauthorized\r\n" == status


async def test_slow_body(box: Box) -> None:
    """A body that does not come is given up after its time."""
    headers = await box.credential("node", "gpu-001")
    reader, writer = await asyncio.open_connection("127.0.0.1", box.port)
    head = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
    writer.write(f"{head}Authorization: {headers['Authorization']}\r\n\r\nab".encode())
    status = await reader.readline()
    writer.close()
    assert b"HTTP/1.1 408 Request Timeout\r\n" == status


@pytest.mark.parametrize(
    "sent", [b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: "], ids=str
)
async def test_slow_head(box: Box, sent: bytes) -> None:
    """Whoever does not finish his request line or headers is cut off, and keeps nobody waiting."""
    reader, writer = await asyncio.open_connection("127.0.0.1", box.port)
    writer.write(sent)
    async with asyncio.timeout(5):
        left = await reader.read()
    writer.close()
    assert b"" == left


async def test_slow_head_after_a_request(box: Box) -> None:
    """A connection that served one request is no place to wait on either."""
    reader, writer = await asyncio.open_connection("127.0.0.1", box.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /he")
    async with asyncio.timeout(5):
        left = await reader.read()
    writer.close()
    assert True is left.endswith(b"\r\n\r\nok\n")


async def test_in_flight(box: Box) -> None:
    """What all bodies together may take is bounded: 503, and come again."""
    box.aggregator.in_flight = box.bounds.in_flight
    headers = await box.credential("node", "gpu-001")
    async with box.client.post(PATH, data=LINE, headers=headers) as answer:
        assert (503, "5") == (answer.status, answer.headers["Retry-After"])


async def test_in_flight_is_given_back(box: Box) -> None:
    """Every outcome gives its room back."""
    await post(box, LINE)
    await post(box, b"no", "gzip")
    await post(box, b"x" * 200_001)
    assert 0 == box.aggregator.in_flight


async def test_body_that_stays(box: Box) -> None:
    """What a node said can be read back whole."""
    await post(box, LINE)
    viewer = await box.credential("viewer")
    _, history = await box.send("GET", "/v1/nodes/gpu-001/history", viewer)
    assert json.loads(LINE) == history["items"][0]["report"]


async def test_a_heartbeat_asks_where_its_peers_serve_pings(box: Box) -> None:
    """The receipt tells what the peers' own last snapshots said, and of the others nothing."""
    gauges = {"mlx5_0.ibping_server": 1.0, "mlx5_1.1.rate_gbps": 400.0}
    peer = await box.credential("node", "gpu-002")
    told = snapshot(1, node="gpu-002", machine="m-2", parts=(), gauges=gauges)
    await box.send("POST", PATH, peer, data=lines([told]))
    asking = report(1, peers=("gpu-002", "gpu-003"))
    first = (await post(box, lines([asking])))[1]
    silent = (await post(box, lines([report(2)])))[1]
    box.now += 601.0
    late = (await post(box, lines([report(3, peers=("gpu-002",))])))[1]

    assert (
        {"accepted": 1, "serving": {"gpu-002": ["mlx5_0"]}},
        {"accepted": 1},
        {"accepted": 1},
    ) == (first, silent, late)


async def test_a_heartbeat_asks_where_silent_peers_were_answered(box: Box) -> None:
    """The receipt tells on which devices others answered a silent peer since its boot."""
    peer = await box.credential("node", "gpu-002")
    beat = report(1, node="gpu-002", machine="m-2", worked=(Way("mlx5_0", 2.0, 65535, 12),))
    await box.send("POST", PATH, peer, data=lines([beat]))
    box.now += 3.0
    receipt = (await post(box, lines([report(1, silent=("gpu-002", "gpu-003"))])))[1]

    assert {"accepted": 1, "worked": {"gpu-002": [["mlx5_0", 5.0, 65535, 12]]}} == receipt


async def test_a_heartbeat_asks_how_its_jobs_are_set_up_elsewhere(box: Box) -> None:
    """The receipt tells in what the nodes of a job differ; nothing where one alone told of it."""
    first = (await post(box, lines([report(1, jobs=(job(NCCL_ALGO="Ring"),))])))[1]
    peer = await box.credential("node", "gpu-002")
    beat = report(1, node="gpu-002", machine="m-2", jobs=(job(),))
    _, other = await box.send("POST", PATH, peer, data=lines([beat]))

    differing = {"NCCL_ALGO": [["Ring", 1, ["gpu-001"]], [None, 1, ["gpu-002"]]]}
    assert (
        {"accepted": 1},
        {"accepted": 1, "jobs": {"0" * 16: {"nodes": 2, "differing": differing}}},
    ) == (first, other)


def job(**settings: str) -> JobSettings:
    """Return a job as a heartbeat tells of it."""
    return JobSettings(job="0" * 16, settings=settings)


async def test_the_newest_heartbeat_of_a_batch_asks(box: Box) -> None:
    """Of many heartbeats that waited only the newest one's question is answered."""
    for name in ("gpu-002", "gpu-003"):
        told = snapshot(1, node=name, machine=name, parts=(), gauges={"mlx5_0.ibping_server": 1.0})
        await box.send("POST", PATH, await box.credential("node", name), data=lines([told]))
    newest = report(2, peers=("gpu-003",), sent=box.now)
    older = report(1, peers=("gpu-002",), sent=box.now - 60.0)

    receipt = (await post(box, lines([newest, older])))[1]

    assert {"gpu-003": ["mlx5_0"]} == receipt["serving"]
