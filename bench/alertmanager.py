"""Alertmanager beside the aggregator's ingest: alerts a second for one core, in the same batches.

It keeps alerts in memory and writes a snapshot at its end: nothing of what it accepts is on disk,
so that its figure is what HTTP and JSON alone cost. Debian: prometheus-alertmanager.
"""

import asyncio
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import msgspec
import psutil

PORT = 29_843
URL = f"http://127.0.0.1:{PORT}"
NAMES = ("alertmanager", "prometheus-alertmanager")
CONFIG = "route:\n  receiver: none\nreceivers:\n  - name: none\n"


def program() -> str | None:
    """Return where it is installed, None where it is not."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def body(node: int, first: int, count: int) -> bytes:
    """Return a batch of alerts, each of another GPU fault."""
    alerts = [
        {
            "labels": {"alertname": "gpu_lost", "node": f"n{node}", "gpu": str(first + n)},
            "annotations": {"summary": "it left the bus"},
        }
        for n in range(count)
    ]
    return msgspec.json.encode(alerts)


async def _send(bodies: Sequence[bytes], took: list[float]) -> None:
    async with aiohttp.ClientSession(URL) as client:
        for one in bodies:
            began = time.perf_counter()
            head = {"Content-Type": "application/json"}
            async with client.post("/api/v2/alerts", data=one, headers=head) as answer:
                assert answer.ok, await answer.text()
            took.append((time.perf_counter() - began) * 1000)


async def _ready() -> None:
    async with aiohttp.ClientSession() as client:
        while True:
            try:
                async with client.get(f"{URL}/-/ready") as answer:
                    if answer.ok:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.05)


async def _measure(nodes: int, batch: int, total: int, first: int, pid: int) -> str:
    each = max(1, total // batch // nodes)
    bodies = [[body(n, first + turn * batch, batch) for turn in range(each)] for n in range(nodes)]
    server, took = psutil.Process(pid), list[float]()
    cpu, began = sum(server.cpu_times()[:2]), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for n in range(nodes):
            group.create_task(_send(bodies[n], took))
    seconds = time.perf_counter() - began
    spent, count = sum(server.cpu_times()[:2]) - cpu, each * batch * nodes
    p99 = statistics.quantiles(took, n=100)[98]
    return (
        f"{batch:>6}{count:>9}{count / seconds:>12.0f}{count / spent:>14.0f}"
        f"{statistics.median(took):>9.1f}{p99:>9.1f}{server.memory_info().rss / 2**20:>9.0f}"
    )


def rows(nodes: int, batches: Sequence[tuple[int, int]], core: set[int]) -> list[str]:
    """Return a row for each batch size and total, Alertmanager alone on *core*."""
    path = program()
    assert path is not None
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "alertmanager.yml"
        config.write_text(CONFIG)
        argv = [path, f"--config.file={config}", f"--storage.path={folder}"]
        argv += [f"--web.listen-address=127.0.0.1:{PORT}", "--cluster.listen-address="]
        ours = os.sched_getaffinity(0)
        os.sched_setaffinity(0, core)
        null = os.open(os.devnull, os.O_WRONLY)
        quiet = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
        pid = os.posix_spawn(path, argv, os.environ, file_actions=quiet)
        os.sched_setaffinity(0, ours)
        try:
            asyncio.run(_ready())
            return [
                asyncio.run(_measure(nodes, batch, total, turn * 10**6, pid))
                for turn, (batch, total) in enumerate(batches)
            ]
        finally:
            os.kill(pid, 15)
            os.waitpid(pid, 0)
