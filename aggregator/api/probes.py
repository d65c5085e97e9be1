"""Liveness, readiness and Prometheus: for machines, without a credential."""

import asyncio
import resource
from collections.abc import Iterable
from http import HTTPStatus

from aiohttp import web

from aggregator.api.asking import AGGREGATOR
from aggregator.api.problem import Problem
from aggregator.service import Aggregator
from aggregator.store.records import Counts

READY_S = 5.0
TEXT = "text/plain; version=0.0.4; charset=utf-8"


async def healthz(request: web.Request) -> web.Response:
    """Answer, which is all that a live process has to do."""
    del request
    return web.Response(text="ok\n")


async def readyz(request: web.Request) -> web.Response:
    """Answer after the store has written, within 5 s."""
    try:
        async with asyncio.timeout(READY_S):
            await request.app[AGGREGATOR].store.ready()
    except TimeoutError:
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE, f"the store did not write within {READY_S:.0f} s"
        ) from None
    return web.Response(text="ready\n")


async def metrics(request: web.Request) -> web.Response:
    """Counters since the start, gauges of now; labels come from fixed sets."""
    aggregator = request.app[AGGREGATOR]
    counts = await aggregator.store.counts(aggregator.clock(), aggregator.listening_since)
    text = "\n".join(_lines(aggregator, counts)) + "\n"
    return web.Response(body=text.encode(), headers={"Content-Type": TEXT})


def _lines(aggregator: Aggregator, counts: Counts) -> Iterable[str]:
    tallies = aggregator.tallies
    commits, seconds = aggregator.store.commits
    usage = resource.getrusage(resource.RUSAGE_SELF)
    prefix = "gpudiag_aggregator"
    yield from _family(
        f"{prefix}_nodes",
        "gauge",
        [
            (f'state="{state}",verdict="{verdict}"', count)
            for (state, verdict), count in sorted(counts.states.items())
        ],
    )
    yield from _family(
        f"{prefix}_reports_total",
        "counter",
        [
            (f'outcome="{outcome}"', tallies.reports[outcome])
            for outcome in ("accepted", "duplicate", "rejected")
        ],
    )
    yield from _family(
        f"{prefix}_requests_total",
        "counter",
        [
            (f'route="{route}",status="{status}"', count)
            for (route, status), count in sorted(tallies.requests.items())
        ],
    )
    for name, kind, value in (
        ("unpacked_bytes_total", "counter", tallies.unpacked_bytes),
        ("commits_total", "counter", commits),
        ("commit_seconds_total", "counter", round(seconds, 6)),
        ("writes_waiting", "gauge", aggregator.store.waiting),
        ("store_bytes", "gauge", counts.bytes),
        ("leases", "gauge", counts.leases),
        ("paused", "gauge", int(aggregator.paused)),
        ("breaker_open", "gauge", int(counts.breaker)),
        ("cpu_seconds_total", "counter", round(usage.ru_utime + usage.ru_stime, 3)),
        ("resident_memory_max_bytes", "gauge", usage.ru_maxrss * 1024),
        ("start_time_seconds", "gauge", round(aggregator.listening_since, 3)),
    ):
        yield from _family(f"{prefix}_{name}", kind, [("", value)])


def _family(name: str, kind: str, samples: list[tuple[str, float]]) -> Iterable[str]:
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"
