"""R1: an aggregator was away for a day: nothing that happened is lost, and it is not flooded."""

import asyncio
from pathlib import Path

import pytest

from agent.outbox.folder import Disk
from agent.outbox.sender import Clock, Sender
from agent.outbox.spool import Spool
from agent.outbox.store import Limits
from aggregator.api.bounds import Bounds
from aggregator.wire import Kind
from tests.agent.outbox.made import Seconds, report
from tests.aggregator.conftest import Box, sqlite

NODE = "gpu-017"
DAY_S = 86_400
SNAPSHOT_S, CHANGE_S, HEARTBEAT_S = 300, 60, 30
MIB = 1 << 20
# A day of snapshots is 9 MB here, and does not fit; in 256 MiB a week of true ones does.
CAP = 6 * MIB
SNAPSHOT_BYTES = 30_000


class Outage:
    """A node's spool over a day, and the sender that drains it; seconds pass as they are slept."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.slept: list[float] = []
        self.at: dict[Kind, list[int]] = {"change": [], "snapshot": [], "heartbeat": []}
        self.largest = 0

    async def fill(self) -> None:
        """Put what a node has to say in a day, a change each minute."""
        for second in range(0, DAY_S, HEARTBEAT_S):
            if second % CHANGE_S == 0:
                await self.put("change", second)
            if second % SNAPSHOT_S == 0:
                await self.put("snapshot", second, SNAPSHOT_BYTES)
            await self.put("heartbeat", second)
        self.largest = max(self.largest, self.spool.status.disk_bytes)

    async def put(self, kind: Kind, second: int, filler: int = 0) -> None:
        self.at[kind].append(second)
        await self.spool.put(report(kind, name=str(second), filler=filler))
        self.largest = max(self.largest, self.spool.status.disk_bytes)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    async def drain(self, url: str, credential: str) -> None:
        """Send until the spool holds nothing."""
        clock = Clock(sleep=self.sleep, monotonic=Seconds(), uniform=lambda low, _: low)
        sender = Sender(self.spool, url=url, credential=lambda: credential, clock=clock)
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            running = group.create_task(sender.run())
            while (await self.spool.batch(1)).records:  # noqa: ASYNC110 - the spool's own state
                await asyncio.sleep(0.02)
            running.cancel()


async def arrived(box: Box) -> list[tuple[str, int, int]]:
    """Return kind, second and dropped of all that is stored, oldest first."""
    viewer = await box.credential("viewer")
    found, path = [], f"/v1/nodes/{NODE}/history?limit=200"
    while path:
        page = (await box.send("GET", path, viewer))[1]
        found += [one["report"] for one in page["items"]]
        path = f"/v1/nodes/{NODE}/history?limit=200&cursor={page['next']}" if page["next"] else ""
    return [
        (one["kind"], int(one["versions"]["name"]), one.get("dropped", 0)) for one in found[::-1]
    ]


@pytest.fixture
def made(tmp_path: Path) -> tuple[Box, Spool]:
    """Prepare an aggregator that does not listen yet, and a node's spool."""
    box = Box(sqlite(tmp_path))
    box.bounds = Bounds()
    return box, Spool(Disk(tmp_path / "spool"), limits=Limits(disk=CAP))


async def test_a_day_without_the_aggregator(made: tuple[Box, Spool]) -> None:
    """Every change arrives, in order; the oldest snapshots made room for them, and are counted.

    The spool stays within its bound, and drains within 10 min, at most a batch a second.
    """
    box, spool = made
    await spool.start()
    outage = Outage(spool)
    await outage.fill()
    await box.start()
    try:
        credential = (await box.credential("node", NODE))["Authorization"].removeprefix("Bearer ")
        await outage.drain(f"http://127.0.0.1:{box.port}", credential)
        took = sum(outage.slept)
        # What was lost last, the next report tells.
        await outage.put("change", DAY_S)
        await outage.drain(f"http://127.0.0.1:{box.port}", credential)
        found = await arrived(box)
    finally:
        await spool.close()
        await box.stop()
    changes = [second for kind, second, _ in found if kind == "change"]
    snapshots = [second for kind, second, _ in found if kind == "snapshot"]
    wanted = outage.at["snapshot"]

    assert (outage.at["change"], wanted[len(wanted) - len(snapshots) :], True) == (
        changes,
        snapshots,
        0 < len(snapshots) < len(wanted),
    )
    lost = len(wanted) - len(snapshots)
    assert (lost, lost, True, True, True) == (
        spool.status.lost,
        sum(dropped for *_, dropped in found),
        outage.largest <= CAP,
        took <= 600,
        min(outage.slept) >= 1.0,
    )
