"""The spool on the loop: never late, whatever the disk does; numbers; heartbeats."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator

import pytest

from agent.outbox.spool import MOST_WAITING, Batch, Spool
from tests.agent.outbox.made import SMALL, Seconds, report
from tests.agent.outbox.volatile import Volatile


class Hanging(Volatile):
    """A disk whose writes do not come back until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def write(self, name: str, at: int, data: bytes) -> None:
        self.gate.wait()
        super().write(name, at, data)


@pytest.fixture
async def hanging() -> AsyncIterator[tuple[Hanging, Spool]]:
    folder = Hanging()
    spool = Spool(folder, limits=SMALL, wall=Seconds(1.0), monotonic=Seconds(), patience_s=0.05)
    await spool.start()
    yield folder, spool
    folder.gate.set()
    await spool.close()


def kinds(batch: Batch) -> list[str]:
    return [json.loads(body)["kind"] for _, body in batch.records]


async def begun(folder: Volatile, wall: float = 1.0) -> Spool:
    spool = Spool(folder, limits=SMALL, wall=Seconds(wall), monotonic=Seconds())
    await spool.start()
    return spool


async def test_put_is_durable_when_it_says_so() -> None:
    """What put() answered True for is there after a crash that keeps only what was synced."""
    folder = Volatile()
    spool = await begun(folder)
    durable = await spool.put(report())
    again = await begun(folder.crash(lambda _: False))
    batch = await again.batch()
    assert (True, 1) == (durable, len(batch.records))


async def test_only_the_newest_heartbeat_is_kept() -> None:
    """Heartbeats are not stored up: one goes, the newest, in its place among the others."""
    folder = Volatile()
    spool = await begun(folder)
    spool.put(report("heartbeat"))
    await spool.put(report())
    second = spool.put(report("heartbeat"))
    await spool.put(report("snapshot"))
    batch = await spool.batch()
    assert (["change", "heartbeat", "snapshot"], False) == (kinds(batch), second.result())


async def test_a_heartbeat_waits_for_the_backlog() -> None:
    """The heartbeat goes with the last batch of a backlog: what is older is told first."""
    spool = await begun(Volatile())
    spool.put(report("heartbeat"))
    for _ in range(3):
        await spool.put(report())
    first = await spool.batch(most=2)
    await spool.acknowledge(first)
    last = await spool.batch(most=2)
    assert (["change"] * 2, ["heartbeat", "change"]) == (kinds(first), kinds(last))


async def test_an_acknowledged_batch_is_gone() -> None:
    """After acknowledge() nothing of the batch comes again, the heartbeat neither."""
    spool = await begun(Volatile())
    spool.put(report("heartbeat"))
    await spool.put(report())
    await spool.acknowledge(await spool.batch())
    assert Batch() == await spool.batch()


async def test_a_newer_heartbeat_outlives_an_acknowledgement() -> None:
    """A heartbeat that was put while the one before was on its way is still to be sent."""
    spool = await begun(Volatile())
    spool.put(report("heartbeat"))
    batch = await spool.batch()
    spool.put(report("heartbeat"))
    await spool.acknowledge(batch)
    assert 1 == len((await spool.batch()).records)


async def test_a_hung_disk_holds_nobody(hanging: tuple[Hanging, Spool]) -> None:
    """Writes that hang: put() returns at once, 256 wait, the rest is counted, heartbeats go on."""
    folder, spool = hanging
    folder.gate.clear()
    puts = [spool.put(report()) for _ in range(MOST_WAITING + 7)]
    spool.put(report("heartbeat"))
    batch = await spool.batch()
    refused = [put for put in puts if put.done()]
    await spool.acknowledge(batch)
    folder.gate.set()
    await asyncio.wait(puts)
    spool._patience_s = 20.0
    await spool.put(report())
    rows = (await spool.batch(most=1000)).records
    told = [json.loads(body).get("dropped", 0) for _, body in rows]
    assert (["heartbeat"], 7, MOST_WAITING + 1, 7) == (
        kinds(batch),
        len(refused),
        len(rows),
        told[-1],
    )


async def test_a_disk_that_hangs_at_the_start() -> None:
    """Opening that hangs delays the start by the patience only; then all goes to disk."""
    folder = Hanging()
    folder.gate.clear()
    spool = Spool(folder, limits=SMALL, wall=Seconds(1.0), monotonic=Seconds(), patience_s=0.05)
    await spool.start()
    put = spool.put(report())
    early = put.done()
    folder.gate.set()
    assert (False, True) == (early, await put)


@pytest.mark.parametrize("wall", [50.0, 1.0, 0.0])
async def test_numbers_are_never_given_again(wall: float) -> None:
    """After a crash numbers go on above all that were given, also when the clock stepped back."""
    folder = Volatile()
    spool = await begun(folder, wall=20.0)
    given = []
    for _ in range(1500):
        spool.put(report("heartbeat"))
        batch = await spool.batch()
        given.append(batch.records[0][0])
    again = await begun(folder.crash(lambda _: False), wall=wall)
    again.put(report("heartbeat"))
    number = (await again.batch()).records[0][0]
    assert (1500, True) == (len(set(given)), number > max(given))


async def test_an_emptied_folder_does_not_begin_again() -> None:
    """The clock alone keeps numbers apart where the folder was removed."""
    spool = await begun(Volatile(), wall=20.0)
    await spool.put(report())
    number = (await spool.batch()).records[0][0]
    again = await begun(Volatile(), wall=21.0)
    await again.put(report())
    assert (await again.batch()).records[0][0] > number


async def test_status_names_the_disks_problem() -> None:
    """The disk's own words are in the status while reports are held in memory."""
    folder = Volatile()
    spool = await begun(folder)
    folder.refuse = 30
    await spool.put(report())
    await spool.close()
    assert "Read-only file system" == spool.status.problem


async def test_each_trouble_is_said_once() -> None:
    """A disk that refuses is one line, its return another, a damaged file a third."""
    folder, clock = Volatile(), Seconds()
    first = await begun(folder)
    await first.put(report())
    folder.names["change-00000001.log"].live[40] ^= 1
    said: list[str] = []
    spool = Spool(folder, limits=SMALL, wall=Seconds(1.0), monotonic=clock, say=said.append)
    await spool.start()
    folder.refuse = 28
    for _ in range(3):
        await spool.put(report())
    folder.refuse = None
    clock.now += 31
    await spool.put(report())
    await spool.close()
    assert [
        "spool: change-00000001.log is damaged; what can be read of it is still sent",
        "spool: No space left on device; reports are held in memory meanwhile",
        "spool: reports are on disk again",
    ] == said


def test_a_part_of_a_batch() -> None:
    """The first records of a batch acknowledge themselves alone, and the heartbeat if it is in."""
    whole = Batch(records=((1, b""), (2, b""), (3, b"")), kept=3, heartbeat=2)
    parts = [whole.first(1), whole.first(2)]
    assert [(1, None), (1, 2)] == [(part.kept, part.heartbeat) for part in parts]
