"""POST /v1/reports: answered after all of it is on disk."""

from http import HTTPStatus
from typing import Self

import msgspec
from aiohttp import web

from aggregator.api import bounds, intake
from aggregator.api.asking import AGGREGATOR
from aggregator.api.problem import Problem
from aggregator.service import Aggregator
from aggregator.store.records import Token
from aggregator.wire import Receipt

_encode = msgspec.json.Encoder().encode


async def post(request: web.Request, caller: Token) -> web.Response:
    """Take a batch: new ones are kept, known ones counted, impossible ones named by line."""
    aggregator = request.app[AGGREGATOR]
    node = caller.node
    assert node is not None
    limits = aggregator.bounds
    with Room(aggregator) as room:
        body = await bounds.body(
            request,
            sent=limits.sent,
            unpacked=limits.unpacked,
            seconds=limits.seconds,
            hold=room.hold,
        )
        lines = _lines(body, limits.lines)
        taken = await intake.take(lines, node, limits.line)
    if not taken.arrivals:
        raise _nothing(taken)
    received = aggregator.clock()
    appended = await aggregator.store.append(taken.arrivals, received)
    aggregator.heard(taken.arrivals, received)
    counted = aggregator.tallies
    counted.unpacked_bytes += len(body)
    counted.reports["accepted"] += appended.accepted
    counted.reports["duplicate"] += appended.duplicates
    counted.reports["rejected"] += len(taken.rejected)
    others = aggregator.of_others(taken.arrivals, received)
    receipt = Receipt(
        accepted=appended.accepted,
        duplicates=appended.duplicates,
        rejected=taken.rejected,
        paused=aggregator.paused,
        serving=others.serving,
        worked=others.worked,
        jobs=others.jobs,
        maintenance=aggregator.maintained(node, received),
    )
    return web.Response(body=_encode(receipt), content_type="application/json")


class Room:
    """What one body takes of the memory for all of them; given back at the end."""

    def __init__(self, aggregator: Aggregator) -> None:
        self.aggregator = aggregator
        self.size = 0

    def __enter__(self) -> Self:
        """Begin with nothing."""
        return self

    def hold(self, size: int) -> None:
        """Take more, or refuse the body."""
        if self.aggregator.in_flight + size > self.aggregator.bounds.in_flight:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "too much is being read already",
                headers={"Retry-After": "5"},
            )
        self.aggregator.in_flight += size
        self.size += size

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self.aggregator.in_flight -= self.size


def _lines(body: bytearray, most: int) -> list[memoryview]:
    """Return the lines without copying them; what is empty is none."""
    if body.count(b"\n") > most:
        raise _too_many(most)
    view = memoryview(body)
    lines, begin = [], 0
    while begin < len(body):
        end = body.find(b"\n", begin)
        end = len(body) if end < 0 else end
        if body[begin:end].strip():
            lines.append(view[begin:end])
        begin = end + 1
    if not lines:
        raise Problem(HTTPStatus.BAD_REQUEST, "the body holds no report")
    if len(lines) > most:
        raise _too_many(most)
    return lines


def _too_many(most: int) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {most} reports", limit=most
    )


def _nothing(taken: intake.Taken) -> Problem:
    """Return the refusal of a batch of which no line can be taken."""
    number, reason = next(iter(taken.rejected.items()))
    foreign = taken.foreign == len(taken.rejected)
    status = HTTPStatus.FORBIDDEN if foreign else HTTPStatus.UNPROCESSABLE_ENTITY
    rejected = {str(line): why for line, why in taken.rejected.items()}
    return Problem(status, f"line {number}: {reason}", rejected=rejected)
