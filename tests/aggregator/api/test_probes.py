"""Liveness, readiness, metrics."""

import re

from tests.aggregator.conftest import Box
from tests.aggregator.reports import lines, snapshot


async def test_ready(box: Box) -> None:
    """A server whose store writes is alive and ready."""
    async with box.client.get("/healthz") as alive, box.client.get("/readyz") as ready:
        assert (200, 200) == (alive.status, ready.status)


async def test_metrics(box: Box) -> None:
    """Metrics are Prometheus text with what was counted."""
    headers = await box.credential("node", "gpu-001")
    await box.send("POST", "/v1/reports", headers, data=lines([snapshot(1), snapshot(1)]))
    await box.send("GET", "/v1/nodes", headers)
    async with box.client.get("/metrics") as answer:
        text = await answer.text()
    sample = re.compile(r"[a-z_]+(\{([a-z]+=\"[^\"]*\",?)*\})? [0-9.e+-]+|# TYPE [a-z_]+ [a-z]+")
    wanted = [
        'gpudiag_aggregator_nodes{state="ok",verdict="fault"} 1',
        'gpudiag_aggregator_reports_total{outcome="duplicate"} 1',
        'gpudiag_aggregator_requests_total{route="GET /v1/nodes",status="403"} 1',
    ]
    found = text.splitlines()
    assert ([], []) == (
        [line for line in wanted if line not in found],
        [line for line in found if not sample.fullmatch(line)],
    )
