"""Sending to a real server on loopback that loses answers, refuses, lies and recovers."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.exchange import Waits
from agent.outbox import sender
from agent.outbox.sender import Clock, Sender
from agent.outbox.spool import Spool
from tests.agent.outbox.made import SMALL, Seconds, report
from tests.agent.outbox.volatile import Volatile

Answer = Callable[[list[dict[str, Any]]], web.Response | None]


class Aggregator:
    """Counts each (node, boot id, sequence) once; answers by script first, then well."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str, int], dict[str, Any]] = {}
        self.bodies: list[list[dict[str, Any]]] = []
        self.tokens: list[str] = []
        self.script: list[Answer] = []
        self.hang_up: Answer = self.accept_unheard
        self.always: Answer = lambda _: None
        self.paused = False
        self.serving: dict[str, list[str]] = {}
        self.silent: asyncio.Event | None = None

    async def post(self, request: web.Request) -> web.StreamResponse:
        if self.silent is not None:
            await self.silent.wait()
        lines = [json.loads(line) for line in (await request.read()).splitlines()]
        assert request.headers["Content-Encoding"] == "zstd"  # aiohttp unpacked it
        self.bodies.append(lines)
        self.tokens.append(request.headers["Authorization"])
        answer = self.script.pop(0) if self.script else self.always
        if answer is self.hang_up:
            assert request.transport is not None
            request.transport.abort()
        response = answer(lines)
        return response if response is not None else self.accept(lines)

    def accept(self, lines: list[dict[str, Any]]) -> web.Response:
        accepted = 0
        for line in lines:
            key = (line["node"], line["boot_id"], line["sequence"])
            accepted += key not in self.seen
            self.seen.setdefault(key, line)
        duplicates = len(lines) - accepted
        return web.json_response(
            {
                "accepted": accepted,
                "duplicates": duplicates,
                "paused": self.paused,
                "serving": self.serving,
            }
        )

    def accept_unheard(self, lines: list[dict[str, Any]]) -> web.Response:
        """Accept, while the connection is gone already."""
        return self.accept(lines)

    def lose(self, lines: list[dict[str, Any]]) -> web.Response:
        """Accept, and answer what says nothing: the true answer got lost."""
        self.accept(lines)
        return web.Response(status=502)

    def names(self) -> list[str]:
        return [line["versions"]["name"] for line in self.seen.values()]


def status(number: int, **headers: str) -> Answer:
    return lambda _: web.Response(status=number, headers=headers)


async def eventually(done: Callable[[], bool]) -> None:
    """Wait until something is so that has no event of its own."""
    async with asyncio.timeout(20):
        while not done():  # noqa: ASYNC110 - what is waited for is the product's own state
            await asyncio.sleep(0.001)


class Watched(Spool):
    """A spool that notes when the sender found nothing left to send."""

    idle = False

    async def wait(self) -> None:
        self.idle = True
        await super().wait()


class Bench:
    """A spool, a server and a sender whose pauses take no time; `pauses` are the seconds."""

    def __init__(self, spool: Watched, server: Aggregator, url: str) -> None:
        self.spool = spool
        self.server = server
        self.pauses: list[float] = []
        self.spans: list[tuple[float, float]] = []
        self.said: list[str] = []
        self.answered: list[sender.Answer] = []
        self.credential = "first"
        self.sender = Sender(
            spool,
            url=url,
            credential=lambda: self.credential,
            on_answer=self.answered.append,
            say=self.said.append,
            clock=Clock(sleep=self.sleep, monotonic=Seconds(), uniform=self.uniform),
        )

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    def uniform(self, low: float, high: float) -> float:
        self.spans.append((low, high))
        return high

    async def put(self, *names: str) -> None:
        for name in names:
            await self.spool.put(report(name=name))

    async def until_empty(self) -> None:
        """Run the sender until all is acknowledged."""
        self.spool.idle = False
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self.sender.run())
            await eventually(lambda: self.spool.idle)
            running.cancel()


@asynccontextmanager
async def serving(server: Aggregator) -> AsyncIterator[str]:
    app = web.Application(client_max_size=64 << 20)

    async def post(request: web.Request) -> web.StreamResponse:
        return await server.post(request)

    app.router.add_post("/v1/reports", post)
    real = TestServer(app)
    await real.start_server()
    try:
        yield str(real.make_url("/"))
    finally:
        await real.close()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    server = Aggregator()
    spool = Watched(Volatile(), limits=SMALL, wall=Seconds(1.0), monotonic=Seconds())
    await spool.start()
    async with serving(server) as url:
        yield Bench(spool, server, url)
    await spool.close()


async def test_all_arrive_in_order(bench: Bench) -> None:
    """Reports arrive once each, in order, with the credential."""
    await bench.put(*"abcde")
    await bench.until_empty()
    assert (list("abcde"), ["Bearer first"]) == (bench.server.names(), bench.server.tokens)


@pytest.mark.parametrize(
    "answer",
    [status(500), status(503), status(429), status(404), status(302, Location="http://x.invalid/")],
)
async def test_a_refusal_loses_nothing(bench: Bench, answer: Answer) -> None:
    """A server that fails for a while gets the same batch again, later."""
    bench.server.script = [answer] * 3
    await bench.put("a", "b")
    await bench.until_empty()
    assert (["a", "b"], 4) == (bench.server.names(), len(bench.server.bodies))


async def test_a_lost_answer_counts_once(bench: Bench) -> None:
    """Reports that were taken but whose answer was lost come again, and count once."""
    bench.server.script = [bench.server.lose, bench.server.hang_up]
    await bench.put("a", "b")
    await bench.until_empty()
    assert (["a", "b"], 3) == (bench.server.names(), len(bench.server.bodies))


@pytest.mark.parametrize(
    "text", ["", "<html>", "{}", '{"accepted":1}', '{"accepted":3}', "[" * 100_000, "1"]
)
async def test_an_answer_that_is_no_receipt_acknowledges_nothing(bench: Bench, text: str) -> None:
    """A proxy's 200, or a receipt that does not account for each report, is a failure."""
    bench.server.script = [lambda _: web.Response(text=text)]
    await bench.put("a", "b")
    await bench.until_empty()
    assert ["a", "b"] == bench.server.names()


@pytest.mark.parametrize("number", [400, 413, 422])
async def test_one_bad_record_is_found_dropped_and_told_of(bench: Bench, number: int) -> None:
    """A batch that is refused is split until the one bad record is alone; the rest arrives."""

    def judge(lines: list[dict[str, Any]]) -> web.Response | None:
        bad = any(line["versions"]["name"] == "bad" for line in lines)
        return web.Response(status=number) if bad else None

    bench.server.always = judge
    await bench.put("a", "b", "bad", "c", "d")
    await bench.until_empty()
    await bench.put("e")
    await bench.until_empty()
    told = [line.get("dropped", 0) for line in bench.server.seen.values()]
    assert (list("abcde"), [0, 0, 0, 0, 1]) == (bench.server.names(), told)


async def test_a_server_that_refuses_all_costs_one_report_a_pause(bench: Bench) -> None:
    """Where everything gets 400, records go one by one, each after a longer pause."""
    bench.server.always = lambda _: web.Response(status=400)
    await bench.put("a", "b", "c")
    await bench.until_empty()
    assert [2.0, 4.0, 8.0] == [pause for pause in bench.pauses if pause > 1.0]


async def test_rejected_lines_are_told_of(bench: Bench) -> None:
    """Lines that a receipt rejects are let go of, said, and counted in the next report."""
    receipt = {"accepted": 1, "rejected": {"1": "sequence is negative"}}
    bench.server.script = [lambda _: web.json_response(receipt)]
    await bench.put("a", "b")
    await bench.until_empty()
    await bench.put("c")
    await bench.until_empty()
    told = [line.get("dropped", 0) for line in bench.server.seen.values()]
    assert ([1], True) == (told, "1 reports refused, sequence is negative" in bench.said[0])


async def test_back_off_grows_to_five_minutes_with_full_jitter(bench: Bench) -> None:
    """Pauses are drawn from 1 s up to twice the last bound, at most 5 min."""
    bench.server.script = [status(500)] * 11
    await bench.put("a")
    await bench.until_empty()
    bounds = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0, 300.0]
    assert [(1.0, bound) for bound in bounds] == bench.spans


async def test_retry_after_is_kept_within_bounds(bench: Bench) -> None:
    """A server may ask for a longer pause, but not for more than 5 min."""
    bench.server.script = [
        status(503, **{"Retry-After": "40"}),
        status(503, **{"Retry-After": "9" * 50}),
        status(503, **{"Retry-After": "soon"}),
    ]
    await bench.put("a")
    await bench.until_empty()
    assert [40.0, 300.0, 8.0] == bench.pauses[:3]


@pytest.mark.parametrize("number", [401, 403])
async def test_a_refused_credential_is_said_once(bench: Bench, number: int) -> None:
    """A refused credential is one line, tried again slowly, and a new one is used at once."""

    def judge(_: list[dict[str, Any]]) -> web.Response | None:
        if len(bench.server.tokens) == 4:
            bench.credential = "second"
        return web.Response(status=number) if bench.server.tokens[-1] == "Bearer first" else None

    bench.server.always = judge
    await bench.put("a")
    await bench.until_empty()
    refused = f"status {number}, the credential is refused; enrol this node again"
    lines = [line.partition(": ")[2] for line in bench.said]
    assert ([refused, "reports are accepted again"], {(150.0, 300.0)}, ["a"]) == (
        lines,
        set(bench.spans),
        bench.server.names(),
    )


@pytest.mark.parametrize(
    ("number", "known", "spans"),
    [
        pytest.param(401, True, [], id="given another"),
        pytest.param(401, False, [(150.0, 300.0)], id="given none"),
        pytest.param(403, True, [(150.0, 300.0)], id="known, and not allowed"),
    ],
)
async def test_where_the_credential_is_not_known_another_is_asked_for(
    bench: Bench,
    number: int,
    known: bool,  # noqa: FBT001 - a column of the table
    spans: list[tuple[float, float]],
) -> None:
    """A server that lost its database answers 401: with a new credential all goes on at once."""
    asked: list[int] = []

    async def renew() -> bool:
        asked.append(number)
        return known

    bench.sender._renew = renew
    bench.server.script = [status(number)]
    await bench.put("a")
    await bench.until_empty()

    expected = [number] if number == 401 else []
    assert (expected, spans, ["a"]) == (asked, bench.spans, bench.server.names())


def foreign(lines: list[dict[str, Any]]) -> web.Response | None:
    """Refuse a batch of which no line is of gpu-017, as the aggregator does."""
    if any(line["node"] == "gpu-017" for line in lines):
        return None
    rejected = {str(number): "is of another node" for number in range(len(lines))}
    return web.json_response(
        {"detail": "line 0: of another node", "rejected": rejected}, status=403
    )


async def test_a_renamed_node_lets_go_of_its_old_name(bench: Bench) -> None:
    """Reports under a name that this node had before are refused for good: dropped, told of."""
    bench.server.always = foreign
    old = msgspec.structs.replace(report(name="old"), node="gpu-old")
    await bench.spool.put(old)
    await bench.spool.put(old)
    bench.spool.put(report("heartbeat", name="alive"))
    bench.spool.put(report("heartbeat", name="alive"))
    bench.sender._most = 2
    await bench.until_empty()
    await bench.put("new")
    await bench.until_empty()
    told = [line.get("dropped", 0) for line in bench.server.seen.values()]
    assert (["alive", "new"], [0, 2]) == (bench.server.names(), told)


async def test_a_credential_of_another_node_loses_nothing(bench: Bench) -> None:
    """Where the refused reports have this node's own name, they wait for the right credential."""
    bench.server.script = [
        lambda lines: foreign([{**line, "node": "other"} for line in lines]),
    ] * 3
    await bench.put("a")
    await bench.until_empty()
    assert (["a"], {(150.0, 300.0)}) == (bench.server.names(), set(bench.spans))


async def test_a_backlog_is_sent_at_a_bounded_rate(bench: Bench) -> None:
    """After days a node sends at most one batch of 500 reports a second."""
    for number in range(1200):
        await bench.spool.put(report(name=str(number)))
    await bench.until_empty()
    sizes = [len(body) for body in bench.server.bodies]
    assert ([500, 500, 200], [1.0] * 3, 1200) == (sizes, bench.pauses, len(bench.server.seen))


async def test_paused_is_handed_on(bench: Bench) -> None:
    """Each receipt says whether all acting is to stop."""
    await bench.put("a")
    await bench.until_empty()
    bench.server.paused = True
    await bench.put("b")
    await bench.until_empty()
    assert [False, True] == [answer.paused for answer in bench.answered]


async def test_where_peers_serve_pings_is_handed_on(bench: Bench) -> None:
    """Each receipt's word of the peers asked for comes with its answer."""
    bench.server.serving = {"gpu-018": ["mlx5_0"], "gpu-019": []}
    await bench.put("a")
    await bench.until_empty()
    receipts = [one.receipt for one in bench.answered if one.receipt]
    assert [{"gpu-018": ("mlx5_0",), "gpu-019": ()}] == [one.serving for one in receipts]


async def test_a_change_wakes_the_sender(bench: Bench) -> None:
    """What is put while nothing waits is sent at once."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.sender.run())
        await asyncio.sleep(0.05)
        await bench.put("late")
        await eventually(lambda: bool(bench.server.seen))
        running.cancel()
    assert ["late"] == bench.server.names()


async def test_a_server_that_does_not_answer(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer has a deadline; the batch then comes again."""
    monkeypatch.setattr(sender, "TIMEOUTS", Waits(read_s=0.05))
    bench.server.silent = asyncio.Event()
    await bench.put("a")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.sender.run())
        await eventually(lambda: bool(bench.pauses))
        bench.server.silent.set()
        await eventually(lambda: bool(bench.server.seen))
        running.cancel()
    assert ("no answer in time", ["a"]) == (
        bench.said[0].rpartition(": ")[2],
        bench.server.names(),
    )


async def test_no_server_at_all(bench: Bench) -> None:
    """A refused connection is a failure like any other, said once, and nothing is lost."""
    lonely = Sender(
        bench.spool,
        url="http://127.0.0.1:1",
        credential=lambda: "x",
        say=bench.said.append,
        clock=Clock(sleep=bench.sleep, monotonic=Seconds(), uniform=bench.uniform),
    )
    await bench.put("a")
    running = asyncio.ensure_future(lonely.run())
    await eventually(lambda: len(bench.pauses) >= 3)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    left = len((await bench.spool.batch()).records)
    assert (1, 1) == (len(bench.said), left)
