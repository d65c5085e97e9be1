"""What the kernel log means: its records, searched by the rules."""

import asyncio

from agent.knowledge import Site, known
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node
from diagnostics.knowledge.codes import tables
from diagnostics.rules.kernel import KernelKnowledge, KernelSymptoms, Search, joined

# So that the loop goes on in between: a log full of Xids takes some 20 microseconds a record.
AT_ONCE = 1_000


def ready(site: Site) -> KernelKnowledge:
    """Return the rules for the kernel log; the tables of codes are read as well.

    A line is looked up in these later, and a running loop opens no file.
    """
    for table in (tables.xids, tables.sxids, tables.subs, tables.words):
        table()
    return known(site).kernel


async def collect(node: Node, wanted: Wanted, log: KernelLog | Missing) -> KernelSymptoms | Missing:
    """Search the log that was read for all."""
    if isinstance(log, Missing):
        return log
    # Rules are files of this package: their first reading is short, and none for the loop.
    held = await asyncio.to_thread(ready, wanted.rules)  # noqa: TID251 - files of our own cannot hang
    records = tuple(joined(log.records))
    search = Search(log, held)
    for start in range(0, len(records), AT_ONCE):
        search.feed(records[start : start + AT_ONCE])
        await node.sleep(0)
    return search.seen()
