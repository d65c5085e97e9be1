"""The logs of a walk: read through the door, then searched for symptoms and numbers."""

import asyncio

import msgspec

from agent.knowledge import knowledge
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.jobs.job_logs import JobLog, JobLogs, Piece
from collectors.jobs.job_logs import piece as part_of
from collectors.logs.pieces import pieces, sliced
from collectors.node.protocol import LogText, Node
from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import LogSeen, TrainingLogs

# The first bytes of gzip, zstd and xz, as the door decodes what is no UTF-8.
PACKED = ("\x1f\\x8b", "(\\xb5/\\xfd", "\\xfd7zXZ")


async def collect(node: Node, wanted: Wanted, found: JobLogs | Missing) -> TrainingLogs | Missing:
    """Read each wanted log, and the ends of those that the jobs of this node write.

    One that cannot be read leaves the others judged.
    """
    mine = own(wanted, found)
    if not wanted.logs and not mine:
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
            logs.append(of_job(await search(node, read, known), path, found))
    for log in mine:
        part = await part_of(node, log)
        if isinstance(part, Missing):
            unseen.append(part)
        else:
            logs.append(of_job(await search(node, text_of(part), known), log.path, found))
    return TrainingLogs(logs=tuple(logs), unseen=tuple(unseen))


def own(wanted: Wanted, found: JobLogs | Missing) -> list[JobLog]:
    """Return the logs that were found and are read here: each once, and not one that was named."""
    if isinstance(found, Missing):
        return []
    return [log for log in found.logs if not log.elsewhere and log.path not in wanted.logs]


def of_job(seen: LogSeen, path: str, found: JobLogs | Missing) -> LogSeen:
    """Return a log with the job that writes it here, where one does."""
    logs = () if isinstance(found, Missing) else found.logs
    job = next((log.job for log in logs if log.path == path), None)
    return msgspec.structs.replace(seen, job=job)


def text_of(part: Piece) -> LogText:
    """Return the end of a log; its lines count from where it begins, as nobody counted before."""
    name = _from(part.path, part.start) if part.start else part.path
    return LogText(path=name, text=part.text)


def _from(path: str, byte: int) -> str:
    return f"{path} from byte {byte}"


async def search(node: Node, read: LogText, known: Knowledge) -> LogSeen:
    """Search one log, a piece at a time, so that the loop goes on in between."""
    name = read.path if read.first_line else _from(read.path, read.skipped_bytes)
    reading = Reading(known, name, first_line=read.first_line or 1)
    for piece in pieces(sliced(read.text.encode("utf-8", "surrogatepass"))):
        reading.feed(piece)
        await node.sleep(0)
    return reading.seen()
