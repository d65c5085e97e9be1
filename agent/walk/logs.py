"""The logs of a walk: read through the door, then searched for symptoms and numbers."""

import asyncio

from agent.knowledge import knowledge
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.logs.pieces import pieces, sliced
from collectors.node.protocol import LogText, Node
from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import LogSeen, TrainingLogs

# The first bytes of gzip, zstd and xz, as the door decodes what is no UTF-8.
PACKED = ("\x1f\\x8b", "(\\xb5/\\xfd", "\\xfd7zXZ")


async def collect(node: Node, wanted: Wanted) -> TrainingLogs | Missing:
    """Read each wanted log; one that cannot be read leaves the others judged."""
    if not wanted.logs:
        return TrainingLogs()
    # Rules are files of this package: their first reading is short, and none for the loop.
    known = await asyncio.to_thread(knowledge, wanted.rules)  # noqa: TID251 - files of our own cannot hang
    logs: list[LogSeen] = []
    unseen: list[Missing] = []
    for path in wanted.logs:
        read = await node.log(path)
        if isinstance(read, LogText) and read.text.startswith(PACKED):
            detail = f"it is packed; gpudiag logs {path} reads it"
            read = Missing(what=path, cause=Cause.GARBLED, detail=detail)
        if isinstance(read, Missing):
            unseen.append(read)
        else:
            logs.append(await search(node, read, known))
    return TrainingLogs(logs=tuple(logs), unseen=tuple(unseen))


async def search(node: Node, read: LogText, known: Knowledge) -> LogSeen:
    """Search one log, a piece at a time, so that the loop goes on in between."""
    reading = Reading(known, read.path, first_line=read.first_line)
    for piece in pieces(sliced(read.text.encode("utf-8", "surrogatepass"))):
        reading.feed(piece)
        await node.sleep(0)
    return reading.seen()
