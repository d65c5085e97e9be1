"""Durable reports a second for one core of the aggregator: `python -m bench.ingest`.

The server is one process on the first core, fsync and all; who sends sits on the second one. A
report is a snapshot of about 3 KB of eight GPUs; each counts when its receipt came.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import aiohttp
import msgspec
import psutil

from aggregator import credentials
from aggregator.store.sqlite import access
from aggregator.store.sqlite.migrations import connect, migrate
from aggregator.wire import MEDIA_TYPE, Part, Report
from bench import alertmanager

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

NODES, PORT, TARGET, TARGET_P99_MS = 16, 29_837, 5000, 50
GAUGES = {f"gpu{n}.{name}": 41.5 + n for n in range(8) for name in ("celsius", "watts", "mhz")}
FINDING = {"id": "f1", "fault": "gpu_lost", "severity": "critical", "message": "it left the bus"}
CHECKS = [
    {"check": f"driver.check_{n}", "verdict": "ok", "message": "as it was"} for n in range(18)
]


def report(node: str, sequence: int) -> Report:
    """Return one snapshot."""
    parts = [
        Part(
            kind="gpu", serial=f"{node}-{n}", slot=f"0000:{n}a:00.0", model="H100", firmware="96.0"
        )
        for n in range(8)
    ]
    return Report(
        node=node,
        boot_id="b",
        sequence=sequence,
        sent=time.time(),
        kind="snapshot",
        product="gpudiag 0.1.0",
        verdict="fault",
        machine=node,
        diagnosis={"findings": [FINDING], "stages": [{"name": "driver", "checks": CHECKS}]},
        parts=tuple(parts),
        gauges=GAUGES,
    )


def body(node: str, first: int, count: int) -> bytes:
    """Return a batch as it travels."""
    lines = (msgspec.json.encode(report(node, first + n)) + b"\n" for n in range(count))
    return zstd.compress(b"".join(lines))


def prepare(folder: Path) -> list[str]:
    """Make the database with a credential for each node."""
    path = folder / "gpudiag.db"
    migrate(path)
    made = [credentials.make("node", "n", time.time(), 86_400, node=f"n{n}") for n in range(NODES)]
    with closing(connect(path)) as connection:
        for token, _ in made:
            access.put(connection, token)
    return [text for _, text in made]


async def send(text: str, bodies: Sequence[bytes], took: list[float]) -> int:
    """Send batches one after another as one node; return how many reports were accepted."""
    headers = {"Authorization": f"Bearer {text}", "Content-Encoding": "zstd"}
    accepted = 0
    async with aiohttp.ClientSession(f"http://127.0.0.1:{PORT}") as client:
        for one in bodies:
            began = time.perf_counter()
            async with client.post(
                "/v1/reports", data=one, headers=headers | {"Content-Type": MEDIA_TYPE}
            ) as answer:
                accepted += (await answer.json())["accepted"]
            took.append((time.perf_counter() - began) * 1000)
    return accepted


async def ready() -> None:
    """Wait until the server answers."""
    async with aiohttp.ClientSession() as client:
        while True:
            try:
                async with client.get(f"http://127.0.0.1:{PORT}/readyz"):
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)


async def measure(texts: Sequence[str], batch: int, total: int, first: int, pid: int) -> None:
    """Send *total* reports in batches from all nodes at once, print the row."""
    each = max(1, total // batch // NODES)
    bodies = [
        [body(f"n{n}", first + turn * batch, batch) for turn in range(each)] for n in range(NODES)
    ]
    server, took = psutil.Process(pid), list[float]()
    cpu, began = sum(server.cpu_times()[:2]), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(send(texts[n], bodies[n], took)) for n in range(NODES)]
    seconds = time.perf_counter() - began
    spent = sum(server.cpu_times()[:2]) - cpu
    accepted = sum(task.result() for task in tasks)
    p99 = statistics.quantiles(took, n=100)[98]
    rate = accepted / seconds
    mark = " UNDER" if batch > 1 and rate < TARGET else ""
    print(
        f"{batch:>6}{accepted:>9}{rate:>12.0f}{mark}{accepted / spent:>14.0f}"
        f"{statistics.median(took):>9.1f}{p99:>9.1f}{server.memory_info().rss / 2**20:>9.0f}"
    )


def main() -> None:
    """Start the server on a core, send from another one."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--reports", type=int, default=32_000)
    total: int = arguments.parse_args().reports
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(dir=Path(__file__).parents[1]) as folder:
        texts = prepare(Path(folder))
        options = ["--data", folder, "--listen", f"127.0.0.1:{PORT}"]
        os.sched_setaffinity(0, cores[:1])
        null = os.open(os.devnull, os.O_WRONLY)
        argv = [sys.executable, "-I", "-m", "aggregator", "serve", *options]
        quiet = [(os.POSIX_SPAWN_DUP2, null, 2)]
        pid = os.posix_spawn(sys.executable, argv, os.environ, file_actions=quiet)
        os.sched_setaffinity(0, cores[-1:])
        size = len(msgspec.json.encode(report("n0", 1)))
        print(f"durable reports of {size} bytes, {NODES} nodes at once, one core")
        print("batch  reports   reports/s  per cpu second   p50 ms   p99 ms  RSS MiB")
        asyncio.run(ready())
        batches = (1, total // 8), (10, total // 2), (100, total)
        for turn, (batch, count) in enumerate(batches):
            asyncio.run(measure(texts, batch, count, turn * 10**6, pid))
        os.kill(pid, 15)
        os.waitpid(pid, 0)
    if alertmanager.program() is None:
        print("Alertmanager is not installed (apt: prometheus-alertmanager): nothing to compare")
        return
    size = len(alertmanager.body(0, 0, 1))
    print(f"beside it Alertmanager, alerts of {size} bytes: in memory, nothing of it is on disk")
    for row in alertmanager.rows(NODES, batches, set(cores[:1])):
        print(row)


if __name__ == "__main__":
    main()
