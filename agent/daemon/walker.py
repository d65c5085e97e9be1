"""The walk of the daemon: every 30 s over the newest observations, by the walk that `run` makes."""

import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from agent.daemon.alarm import Alarm
from agent.daemon.past import KeptPast
from agent.daemon.sampler import Sampler, Shape
from agent.settings.load import Settings
from agent.walk.judged import Judged
from agent.walk.report import aged, build, stands
from agent.walk.walk import Selection, walk
from collectors.catalog import Source
from collectors.facts.observation import Missing, Observation
from collectors.jobs.expected import Expected
from collectors.network.fec import Fec
from collectors.network.gids import Gids
from collectors.network.interface_settings import InterfaceSettings
from collectors.network.interfaces import Interfaces
from collectors.network.links import LinkHistory
from collectors.network.optics import Optics
from collectors.network.ports import Ports
from collectors.node.protocol import Node
from diagnostics.catalog import WALK
from diagnostics.document import Document
from diagnostics.finding import STAGES
from diagnostics.incidents import join  # noqa: F401 - reads its tables, which the loop must not
from remediations.plan import advise  # noqa: F401 - same
from remediations.plan.situation import NOBODY, Acting
from remediations.plan.standing import Standing

# Agents that were started together must not all walk, and report, in one second.
JITTER = 0.1
# What is looked at more seldom than this says by itself how old it may be.
EACH_WALK_S = 30.0
# What shows at once that a link went up or down.
LINKS: tuple[Shape, ...] = (LinkHistory, Ports, Interfaces, InterfaceSettings, Gids)
# What a card takes long to say of a change: looked at after the walk, and judged in the next.
MODULES: tuple[Shape, ...] = (Optics, Fec)


class Walk(msgspec.Struct, frozen=True, kw_only=True):
    """One finished walk: its document, when it ended, how old each check's observations were.

    `ended` is the node's monotonic clock, `ages_s` is by check. `stages_s` is by stage, of what is
    looked at for each walk, and not of what has a longer period of its own. `standing` is how the
    node stands with those who use it.
    """

    document: Document
    ended: float
    ages_s: Mapping[str, float]
    stages_s: Mapping[str, float] = {}
    standing: Standing = Standing()


class Walker:
    """Walks for ever, and hands each finished walk on."""

    def __init__(
        self,
        node: Node,
        sampler: Sampler,
        settings: Callable[[], Settings],
        finished: Callable[[Walk], None],
        chance: random.Random,
        *,
        past: KeptPast | None = None,
        alarm: Alarm | None = None,
        acting: Callable[[], Acting] = lambda: NOBODY,
    ) -> None:
        self._node = node
        self._alarm = alarm
        self._past = past
        self._sampler = sampler
        self._settings = settings
        self._finished = finished
        self._judged = Judged()
        self._chance = chance
        self._acting = acting

    async def run(self) -> None:
        """Walk when every source was looked at once, and then in the settings' period.

        Where a link goes up or down in between, what shows it is looked at and walked over at once.
        """
        await self._sampler.primed()
        rang = False
        while True:
            self._finished(await self.once(probes=not rang))
            if rang:
                await self._look(MODULES)
            period = self._settings().agent.walk_s
            rang = await self._rest(period * self._chance.uniform(1 - JITTER, 1 + JITTER))
            # What is remembered of links costs nothing, and is judged by the second.
            await self._look(LINKS if rang else LINKS[:1])

    async def _rest(self, seconds: float) -> bool:
        """Let so long pass, or less where a link goes up or down; return whether one did."""
        if self._alarm is not None:
            return await self._alarm.within(seconds, self._node)
        await self._node.sleep(seconds)
        return False

    async def _look(self, shapes: Iterable[Shape]) -> None:
        for shape in shapes:
            if shape in self._sampler.tracks:
                await self._sampler.look(self._sampler.tracks[shape], within_s=0.0)

    async def once(self, *, probes: bool = True) -> Walk:
        """Walk once; without *probes*, over what those said that were sent last."""
        settings = self._settings()
        started, began = self._node.now(), self._node.monotonic()
        identity = await self._node.identity()
        walked = await walk(
            self._node,
            settings.wanted(),
            Selection(),
            settings.limits,
            self._sources(probes=probes),
            at_hand=partial(self._at_hand, probes=probes),
            judged=self._judged,
        )
        ages = self._ages()
        ended = self._node.monotonic()
        document = build(
            walked,
            identity,
            started=started,
            seconds=ended - began,
            strict=False,
            acting=self._acting(),
        )
        return Walk(
            document=aged(document, ages),
            ended=ended,
            ages_s=ages,
            stages_s=self._stages(),
            standing=stands(walked),
        )

    def _sources(self, *, probes: bool) -> dict[Shape, Source]:
        """Return the newest of every source; the node's past stands behind what is expected."""
        sources = self._sampler.sources(probes=probes)
        if self._past is not None and Expected in sources:
            sources[Expected] = self._past.behind(sources[Expected])
        return sources

    def _at_hand(self, shape: Shape, *, probes: bool) -> Observation | Missing | None:
        """Return the newest of what is looked at all the time; a probe is sent within the walk."""
        track = self._sampler.tracks.get(shape)
        if track is None or (track.source.active and probes):
            return None
        return None if shape is Expected and self._past is not None else self._sampler.newest(shape)

    def _ages(self) -> dict[str, float]:
        """Return the age of the oldest thing that each check was shown of the node.

        What is expected of it is no state of its own: a GPU that is missing now is missing now,
        however long ago it was read how many there should be.
        """
        tracks = self._sampler.tracks.keys() - {Expected}
        ages = {shape: self._sampler.age_s(shape) or 0.0 for shape in tracks}
        return {
            check.name: max((ages.get(need.shape, 0.0) for need in check.needs), default=0.0)
            for check in WALK
        }

    def _stages(self) -> dict[str, float]:
        """Return the age of the oldest thing that each stage was shown, of those seen and usual."""
        often = {
            shape: age
            for shape, track in self._sampler.tracks.items()
            if track.source.period_s <= EACH_WALK_S
            and not track.source.active
            and (age := self._sampler.age_s(shape)) is not None
        }
        needs = {stage: [c.needs for c in WALK if c.stage == stage] for stage in STAGES}
        found = {
            stage: [often[need.shape] for some in all_ for need in some if need.shape in often]
            for stage, all_ in needs.items()
        }
        return {stage: max(ages) for stage, ages in found.items() if ages}
