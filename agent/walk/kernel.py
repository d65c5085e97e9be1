"""What the kernel log means: its records, searched by the rules."""

import asyncio
from functools import cache

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node
from diagnostics.knowledge.codes import tables
from diagnostics.rules.kernel import KernelKnowledge, KernelSymptoms, Search, joined, load

# So that the loop goes on in between: a log full of Xids takes some 20 microseconds a record.
AT_ONCE = 1_000


@cache
def knowledge() -> KernelKnowledge:
    """Return the rules for the kernel log with their anchors, compiled once a process.

    The tables of codes, in which a line is looked up later, are read here as well.
    """
    for table in (tables.xids, tables.sxids, tables.subs, tables.words):
        table()
    return KernelKnowledge(load())


async def collect(node: Node, wanted: Wanted, log: KernelLog | Missing) -> KernelSymptoms | Missing:
    """Search the log that was read for all."""
    del wanted
    if isinstance(log, Missing):
        return log
    # Rules are files of this package: their first reading is short, and none for the loop.
    known = await asyncio.to_thread(knowledge)  # noqa: TID251 - files of our own cannot hang
    records = tuple(joined(log.records))
    search = Search(log, known)
    for start in range(0, len(records), AT_ONCE):
        search.feed(records[start : start + AT_ONCE])
        await node.sleep(0)
    return search.seen()
