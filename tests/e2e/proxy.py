"""What stands between agents and aggregator and loses, doubles and mixes up what passes."""

import contextlib
import http.client
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar, cast

import msgspec

from aggregator.store.bodies import text
from aggregator.wire import Report

Key = tuple[str, str, int]
Answer = tuple[int, bytes]
P = TypeVar("P", bound="Proxy")
LOST = 0, b""
PASSED_ON = ("Authorization", "Content-Type", "Content-Encoding")


class Ledger:
    """What agents sent, by node, boot and number, and what of it the aggregator acknowledged.

    Heartbeats are left out: nobody keeps them. `reused` are numbers under which two different
    reports came.
    """

    def __init__(self) -> None:
        self.sent: dict[Key, bytes] = {}
        self.acknowledged: set[Key] = set()
        self.reused: set[Key] = set()
        self.lost = self.doubled = 0

    def note(self, body: bytes) -> set[Key]:
        """Take a batch; return which reports are in it."""
        keys = set()
        for line in text(body).splitlines():
            report = msgspec.json.decode(line, type=Report)
            if report.kind == "heartbeat":
                continue
            key = (report.node, report.boot_id, report.sequence)
            keys.add(key)
            if self.sent.setdefault(key, line) != line:
                self.reused.add(key)
        return keys


class Proxy(ThreadingHTTPServer):
    """Passes requests on to one port; while it is `kind`, each once and with its answer."""

    daemon_threads = True

    def __init__(self, upstream: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = upstream
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.ledger = Ledger()
        self.kind = True
        self.lock = threading.Lock()
        self._chance = random.Random(11)  # noqa: S311 - chance of a test
        self._earlier: list[tuple[dict[str, str], bytes]] = []

    def reports(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return what the agent is answered; LOST for nothing at all."""
        passed = {name: headers[name] for name in PASSED_ON if name in headers}
        with self.lock:
            keys = self.ledger.note(body)
            self._earlier.append((passed, body))
            del self._earlier[:-50]
            luck = 1.0 if self.kind else self._chance.random()
            again = self._chance.choice(self._earlier) if luck < 0.5 else None
        if luck < 0.15:
            self.ledger.lost += 1
            return LOST
        status, answer = self.forward(path, passed, body)
        if status == 200:
            self.ledger.acknowledged |= keys
        if again is not None:
            self.ledger.doubled += 1
            self.forward(path, *again)
        if luck < 0.3:
            self.ledger.lost += 1
            return LOST
        return status, answer

    def forward(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Send a request to the aggregator; LOST where it is not there, or dies meanwhile."""
        there = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=20)
        with contextlib.closing(there):
            try:
                there.request("POST", path, body, headers)
                answer = there.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                return LOST

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of an agent that was killed while it was answered."""


class Handler(BaseHTTPRequestHandler):
    """One connection of an agent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        proxy = cast("Proxy", self.server)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = dict(self.headers)
        if self.path == "/v1/reports":
            status, answer = proxy.reports(self.path, headers, body)
        else:
            status, answer = proxy.forward(self.path, headers, body)
        if not status:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def proxy(upstream: int, kind: type[P]) -> Iterator[P]:
    """Stand before a port for as long as the block."""
    with kind(upstream) as one:
        thread = threading.Thread(target=one.serve_forever, daemon=True)
        thread.start()
        try:
            yield one
        finally:
            one.shutdown()
            thread.join(10.0)
