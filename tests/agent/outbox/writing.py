"""Put reports into a real spool until killed; say each one that is safe, and what is settled."""

import asyncio
import json
import random
import sys
import time
from pathlib import Path

from agent.outbox.folder import Disk
from agent.outbox.spool import Spool
from aggregator.wire import Kind
from tests.agent.outbox.made import KILLED, report

KINDS: tuple[Kind, ...] = ("change", "snapshot")


async def main(folder: Path, first: int) -> None:
    """Go on from *first*; `p 7` is on disk, `b 7` up to it will be, `a 7` up to it is settled."""
    chance = random.Random(first)  # noqa: S311 - repeatable
    spool = Spool(Disk(folder), limits=KILLED, wall=time.time)
    await spool.start()
    for number in range(first, first + 1_000_000):
        kind: Kind = chance.choice(KINDS)
        filler = chance.randrange(2000)
        if await spool.put(report(kind, name=str(number), filler=filler)):
            print("p", number, flush=True)  # noqa: T201 - this is its output
        if chance.random() < 0.2:
            batch = await spool.batch(most=chance.randrange(1, 8))
            if batch.records:
                last = json.loads(batch.records[-1][1])["versions"]["name"]
                print("b", last, flush=True)  # noqa: T201 - this is its output
                await spool.acknowledge(batch)
                print("a", last, flush=True)  # noqa: T201 - this is its output


asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
