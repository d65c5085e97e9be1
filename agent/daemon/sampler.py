"""The newest observation of every source, each looked at in its own period.

A source that hangs delays itself and nobody else: each has a loop of its own. One that keeps
failing is asked less often, which is said once, as is its recovery.
"""

import asyncio
import math
import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from agent.daemon.log import Log
from agent.daemon.supervise import supervise
from agent.walk.walk import BUDGET_S, collected
from collectors.catalog import Source
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

# Before the driver is asked, the kernel log may be this old.
TOLD_S = 2.0
STALE_AFTER = 2.0
# Looks are begun once in so long; all periods are multiples of it.
EACH_S = 2.0
SLOWEST_S = 300.0
# Causes that repeat for as long as the source is broken; the others are answers.
FAILING = frozenset({Cause.TIMEOUT, Cause.CRASHED, Cause.GARBLED})

Shape = type[Observation]


class SourceState(msgspec.Struct, frozen=True, kw_only=True):
    """One source as `gpudiag status` tells of it; `age_s` is None until it was seen once."""

    name: str
    period_s: float
    age_s: float | None
    failures: int
    missing: str | None


class Track:
    """One source: what was seen last, and how often it failed since it last worked."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.seen: Observation | Missing | None = None
        self.taken = 0.0
        self.failures = 0
        self.failed_in_all = 0
        self.lock = asyncio.Lock()

    @property
    def name(self) -> str:
        """Return the name of what it sees."""
        return self.source.shape.__name__

    @property
    def pause_s(self) -> float:
        """Return the time between two looks: longer with each failure after the first."""
        doubled = self.source.period_s * 2.0 ** min(max(self.failures - 1, 0), 10)
        return min(doubled, max(SLOWEST_S, self.source.period_s))


class Sampler:
    """Keeps the newest observations of one node; *wanted* is asked anew at each look."""

    def __init__(
        self,
        node: Node,
        sources: Iterable[Source],
        wanted: Callable[[], Wanted],
        log: Log,
        chance: random.Random,
    ) -> None:
        self.tracks: Mapping[Shape, Track] = {one.shape: Track(one) for one in sources}
        self._node = node
        self._wanted = wanted
        self._log = log
        self._chance = chance
        self._primed = asyncio.Event()
        self._phases: dict[Shape, float] = {}
        self._began = node.monotonic()

    async def run(self) -> None:
        """Look at every source that sends nothing, for ever; probes are left to the walk."""
        passive = [track for track in self.tracks.values() if not track.source.active]
        async with asyncio.TaskGroup() as group:
            for track in passive:
                loop = partial(self._keep, track)
                group.create_task(supervise(f"source {track.name}", loop, self._log))
            group.create_task(self._prime(passive))

    async def primed(self) -> None:
        """Wait until every source was looked at once, at most a walk's time."""
        try:
            async with asyncio.timeout(BUDGET_S):
                await self._primed.wait()
        except TimeoutError:
            return

    async def _prime(self, tracks: Iterable[Track]) -> None:
        for track in tracks:
            await self.look(track, within_s=track.source.period_s)
        self._primed.set()

    async def _keep(self, track: Track) -> None:
        due = self._next(self._began + track.source.period_s * self._phase(track))
        await self.look(track, within_s=track.source.period_s)
        while True:
            await self._node.sleep(max(due - self._node.monotonic(), 0.0))
            await self.look(track, within_s=track.source.period_s / 2)
            due = self._next(max(due + track.pause_s, self._node.monotonic()))

    def _next(self, at: float) -> float:
        """Return when looks are begun next: to wake costs more than to go on."""
        return self._began + math.ceil(round(at - self._began, 3) / EACH_S) * EACH_S

    def _phase(self, track: Track) -> float:
        """Return where in its period a source is looked at.

        Sources are spread, so that they do not all wake at once; those that are told one thing wake
        together, so that it is looked at once for all of them.
        """
        root = track
        while root.source.after:
            root = self.tracks[root.source.after[0]]
        return self._phases.setdefault(root.source.shape, self._chance.uniform(0.5, 1.0))

    async def look(self, track: Track, *, within_s: float) -> Observation | Missing:
        """Return what was seen within the last *within_s*, or look now."""
        async with track.lock:
            if track.seen is not None and self._node.monotonic() - track.taken < within_s:
                return track.seen
            told = [await self._told(track, shape) for shape in track.source.after]
            seen = await collected(track.source, self._node, self._wanted(), told, BUDGET_S)
            # What is as it was stays the same object, by which others know that nothing is new.
            track.seen = track.seen if track.seen == seen else seen
            track.taken = self._node.monotonic()
            self._count(track, seen)
            return track.seen

    async def see(self, shape: Shape, within_s: float) -> Observation | Missing:
        """Do as `look` does, for a shape that may have no source."""
        track = self.tracks.get(shape)
        return self.newest(shape) if track is None else await self.look(track, within_s=within_s)

    async def _told(self, track: Track, shape: Shape) -> Observation | Missing:
        """Return what *track* must be told: anew where it is due before that one asks again."""
        other = self.tracks[shape]
        period = other.source.period_s
        soon = period - min(period, track.source.period_s) / 2
        return await self.look(other, within_s=TOLD_S if shape is KernelLog else soon)

    def _count(self, track: Track, seen: Observation | Missing) -> None:
        if isinstance(seen, Missing) and seen.cause in FAILING:
            track.failures += 1
            track.failed_in_all += 1
            if track.failures == 1:
                self._log.warning("source_failing", source=track.name, why=seen.why())
            return
        if track.failures:
            self._log.info("source_recovered", source=track.name, failures=track.failures)
        track.failures = 0

    def newest(self, shape: Shape) -> Observation | Missing:
        """Return the newest observation, or Missing where it is older than two periods."""
        if (track := self.tracks.get(shape)) is None:
            return Missing(what=shape.__name__, cause=Cause.NOT_RECORDED, detail="no source of it")
        age = self.age_s(shape)
        if track.seen is None or age is None:
            return Missing(what=track.name, cause=Cause.STALE, detail="it was not seen yet")
        if age > STALE_AFTER * track.pause_s:
            detail = f"seen {age:.0f} s ago, and looked at every {track.source.period_s:.0f} s"
            return Missing(what=track.name, cause=Cause.STALE, detail=detail)
        return track.seen

    def age_s(self, shape: Shape) -> float | None:
        """Return how long ago *shape* was seen."""
        track = self.tracks[shape]
        return None if track.seen is None else max(self._node.monotonic() - track.taken, 0.0)

    def sources(self, *, probes: bool = True) -> dict[Shape, Source]:
        """Return sources for a walk over the newest observations; only *probes* still do something.

        They are asked within the walk, where a failed stage before them holds them back.
        """
        return {
            shape: msgspec.structs.replace(
                track.source, collect=partial(self._newest, track, probes), after=()
            )
            for shape, track in self.tracks.items()
        }

    async def _newest(
        self,
        track: Track,
        probes: bool,  # noqa: FBT001 - by `partial` above
        node: Node,
        wanted: Wanted,
    ) -> Observation | Missing:
        del node, wanted
        if track.source.active and probes:
            await self.look(track, within_s=track.pause_s)
        return self.newest(track.source.shape)

    def states(self) -> list[SourceState]:
        """Return every source, as it stands."""
        return [
            SourceState(
                name=track.name,
                period_s=track.source.period_s,
                age_s=self.age_s(shape),
                failures=track.failures,
                missing=track.seen.why() if isinstance(track.seen, Missing) else None,
            )
            for shape, track in self.tracks.items()
        ]
