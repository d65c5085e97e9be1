"""The jobs of this node in the daemon: logs are read on where they ended, and a hang rings.

Of each log it takes no more than 1 MB a second, and its last MiB when it first sees it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from agent.knowledge import knowledge
from agent.walk.logs import collect as named
from agent.walk.logs import own, text_of
from agent.walk.progress import Watching
from agent.walk.suspects import Asking
from collectors.catalog import Source
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.jobs.job_logs import JobLog, JobLogs, Piece
from collectors.jobs.job_logs import piece as part_of
from collectors.jobs.ranks import LocalRanks
from collectors.jobs.ras import RasStatus
from collectors.logs.pieces import pieces, sliced
from collectors.node.protocol import Node
from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.progress import JobProgress

# A piece is a MiB, and a log may take one a second; after a pause no more than these at once.
MOST_AT_ONCE = 10
# Each look at a log that grew judges all of its points anew: no more are kept in full than this.
MOST_POINTS = 4_000


class Followed:
    """One log as far as it was read."""

    def __init__(self, name: str, known: Knowledge, start: int, at: float, job: str) -> None:
        self.next = start
        self.at = at
        self._job = job
        self._reading = Reading(known, name, most_points=MOST_POINTS)
        self._seen: LogSeen | None = None
        self._blocks: deque[bytes] = deque()
        self._pieces = pieces(self._new())

    def _new(self) -> Iterator[bytes]:
        while True:
            yield self._blocks.popleft() if self._blocks else b""

    def take(self, text: str) -> Iterator[None]:
        """Read what is new, and give others a turn after each part."""
        if text:
            self._seen = None
        self._blocks.extend(sliced(text.encode("utf-8", "surrogatepass")))
        for piece in self._pieces:
            if not piece and not self._blocks:
                return
            self._reading.feed(piece)
            yield

    def seen(self) -> LogSeen:
        """Return what it said so far: the same as before where nothing came."""
        if self._seen is None:
            self._seen = msgspec.structs.replace(self._reading.now(), job=self._job)
        return self._seen


class Logs:
    """Follows the logs that were found, each for as long as somebody writes it."""

    def __init__(self) -> None:
        self._logs: dict[tuple[int, int], Followed] = {}

    async def collect(
        self, node: Node, wanted: Wanted, found: JobLogs | Missing
    ) -> TrainingLogs | Missing:
        """Read on in each log."""
        seen = await named(node, wanted, JobLogs())
        mine = own(wanted, found)
        if isinstance(seen, Missing) or not mine:
            self._logs = {}
            return seen
        # Rules are files of this package: their first reading is short, and none for the loop.
        known = await asyncio.to_thread(knowledge, wanted.rules)  # noqa: TID251 - files of our own cannot hang
        unseen = [missing for log in mine if (missing := await self._read(node, log, known))]
        keys = {(log.device, log.inode) for log in mine}
        self._logs = {key: one for key, one in self._logs.items() if key in keys}
        return TrainingLogs(
            logs=(*seen.logs, *(one.seen() for one in self._logs.values())),
            unseen=(*seen.unseen, *unseen),
        )

    async def _read(self, node: Node, log: JobLog, known: Knowledge) -> Missing | None:
        key, now = (log.device, log.inode), node.monotonic()
        followed = self._logs.get(key)
        turns = 1 if followed is None else min(max(int(now - followed.at), 1), MOST_AT_ONCE)
        for _ in range(turns):
            if followed is not None and followed.next == log.size:
                break
            part = await part_of(node, log, -1 if followed is None else followed.next)
            if isinstance(part, Missing):
                return part
            followed = await self._taken(node, log, part, known)
            if followed.next >= part.size:
                break
        if followed is not None:
            followed.at = now
        return None

    async def _taken(self, node: Node, log: JobLog, part: Piece, known: Knowledge) -> Followed:
        key = (log.device, log.inode)
        followed = self._logs.get(key)
        if followed is None or part.start != followed.next:
            # It is new, or became shorter and is read from its end anew.
            followed = Followed(text_of(part).path, known, part.start, node.monotonic(), log.job)
            self._logs[key] = followed
        followed.next = part.next
        for _ in followed.take(part.text):
            await node.sleep(0)
        return followed


class Jobs:
    """Remembers what a walk on its own cannot: logs so far, when each job moved, who was asked."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._watching = Watching()
        self._suspects: frozenset[tuple[str, bool]] = frozenset()

    def behind(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Return *sources* with those of jobs as ones that go on where they stopped."""
        going_on = {
            TrainingLogs: Logs().collect,
            JobProgress: self._progress,
            RasStatus: Asking().collect,
        }
        return tuple(
            msgspec.structs.replace(one, collect=going_on.get(one.shape, one.collect))
            for one in sources
        )

    async def _progress(
        self,
        node: Node,
        wanted: Wanted,
        ranks: LocalRanks | Missing,
        found: JobLogs | Missing,
        logs: TrainingLogs | Missing,
    ) -> JobProgress | Missing:
        seen = await self._watching.collect(node, wanted, ranks, found, logs)
        if isinstance(seen, JobProgress):
            now = frozenset((job.job, job.settled) for job in seen.suspects())
            if now - self._suspects:
                # What is asked of a suspect is looked at by the walk that this makes.
                self._ring()
            self._suspects = now
        return seen
