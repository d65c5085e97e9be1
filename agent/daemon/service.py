"""The daemon put together: its services, what they share, how it starts, reloads and ends."""

import asyncio
import contextlib
import os
import random
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from agent import BUILD
from agent.cli.errors import Mistake
from agent.daemon import gpus, inventory, metrics, view
from agent.daemon.alarm import Alarm
from agent.daemon.answers import About
from agent.daemon.cost import PERIOD_S, Cost, Meter
from agent.daemon.driver_change import DriverChange
from agent.daemon.endpoint import Endpoint
from agent.daemon.exporter import Exporter
from agent.daemon.gpus import GpuRow
from agent.daemon.keeping import Keeping
from agent.daemon.kernel import Listening
from agent.daemon.log import Limit, Log
from agent.daemon.notify import Notify
from agent.daemon.past import KeptPast
from agent.daemon.probing import Probing
from agent.daemon.releasing import Releasing
from agent.daemon.sampler import Sampler, Shape, SourceState
from agent.daemon.supervise import supervise
from agent.daemon.view import Owners
from agent.daemon.walker import Walk, Walker
from agent.settings.load import Settings
from collectors.catalog import Source
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import GpuSnapshot
from collectors.host.holders import GpuHolders
from collectors.node.live import Live
from collectors.node.protocol import Node
from diagnostics.incidents.life import Life

if TYPE_CHECKING:
    # It brings aiohttp, 15 MiB that a node without aggregator does not pay for.
    from agent.daemon.reporting import Reporting

IDLE_S = 300.0
END_S = 4.0

Task = tuple[str, Callable[[], Awaitable[None]]]


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What a daemon is given: `read` reads the settings anew, and raises Mistake.

    `listening` is the local socket, `group` the id of the users who may see all. `reporting` makes
    what tells the aggregator. `past` is what this node had, `alarm` rings where a link changes.
    """

    node: Node
    sources: Sequence[Source]
    settings: Settings
    read: Callable[[], Settings]
    keeping: Keeping
    listening: socket.socket
    group: int | None
    log: Log
    limit: Limit
    chance: random.Random
    reporting: "Reporting | None" = None
    past: KeptPast | None = None
    alarm: Alarm | None = None


class Service:
    """One daemon on one node."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.settings = parts.settings
        self.walk: Walk | None = None
        self._live = parts.node if isinstance(parts.node, Live) else None
        self._began = parts.node.monotonic()
        self._cost = Cost()
        self._page = b""
        self._problem: str | None = None
        self._notify = Notify()
        self._stop = asyncio.Event()
        self._hup = asyncio.Event()
        self._releasing = Releasing(parts.node, parts.keeping)
        self._probing = Probing(parts.node, self._wanted)
        if parts.reporting is not None:
            parts.reporting.ask_of(self._probing.asked, self._probing.confirmed.told)
        sources = self._probing.behind(parts.sources)
        if parts.past is not None:
            sources = parts.past.runs.behind(sources)
        self._sampler = Sampler(parts.node, sources, self._wanted, parts.log, parts.chance)
        self._change = DriverChange(parts.node, self._look, self._releasing, parts.log)
        self._walker = Walker(
            parts.node,
            self._sampler,
            lambda: self.settings,
            self._finished,
            parts.chance,
            past=parts.past,
            alarm=parts.alarm,
        )

    def _wanted(self) -> Wanted:
        return self.settings.wanted()

    async def run(self) -> None:
        """Run until TERM or INT; done within 5 s of it, whatever helpers do."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._hup.set)
        self.parts.log.info("started", product=BUILD, pid=os.getpid())
        await self._begin()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(supervise(name, service, self.parts.log))
                    for name, service in self._services()
                ]
                self._notify.ready("waits for the first look at every source")
                await self._stop.wait()
                self._notify.stopping()
                for task in tasks:
                    task.cancel()
        finally:
            await self._end()

    def _services(self) -> list[Task]:
        parts = self.parts
        endpoint = Endpoint(self, parts.listening, parts.group)
        services: list[Task] = [
            ("sources", self._sampler.run),
            ("walk", self._walker.run),
            ("probes", self._probing.run),
            ("socket", endpoint.run),
            ("settings", self._reloading),
            ("housekeeping", self._housekeeping),
            ("driver", self._change.run),
        ]
        if address := self.settings.agent.metrics:
            exporter = Exporter(address, lambda: self._page, parts.log)
            services.append(("metrics", exporter.run))
        if parts.alarm is not None:
            services.append(("kernel", Listening(parts.node, self._look, parts.alarm.ring).run))
            services.append(("links", partial(parts.alarm.watch, parts.node)))
        if parts.reporting is not None:
            services += parts.reporting.services()
        return services

    async def _begin(self) -> None:
        identity = await self.parts.node.identity()
        ended = self.parts.keeping.begin(identity.boot_id)
        if ended is not None:
            self.parts.log.warning("ended_before", how=ended)
        await self._releasing.look()
        if self.parts.past is not None:
            self.parts.past.begin(identity.node)
        if self.parts.reporting is not None:
            await self.parts.reporting.start()

    async def _end(self) -> None:
        self.parts.log.info("stopping", up_s=round(self.parts.node.monotonic() - self._began))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self.parts.node.close()
                if self.parts.reporting is not None:
                    await self.parts.reporting.close()
        self.parts.keeping.end()
        self._notify.close()

    def _finished(self, walk: Walk) -> None:
        """Take a finished walk: remember, tell, and only then say that we live."""
        self.walk = self.parts.keeping.walked(walk)
        if self.parts.past is not None:
            self.parts.past.learn(self._newest, walk.ended)
        self._page = metrics.render(
            self.about(), self.walk, self.age_s(), self._sampler.tracks.values(), self.gpus()
        )
        document = self.walk.document
        if self.parts.reporting is not None:
            self.parts.reporting.walked(
                self.walk, lambda: inventory.taken(self._newest, self.gpus())
            )
        self._notify.walked(
            f"{document.verdict}, {len(document.incidents)} incidents, "
            f"walk {self.parts.keeping.state.sequence} took {document.seconds or 0.0:.1f} s"
        )

    async def _reloading(self) -> None:
        while True:
            await self._hup.wait()
            self._hup.clear()
            self._notify.reloading()
            await self._reload()
            self._notify.ready(self._problem or "settings read")

    async def _reload(self) -> None:
        """Read the settings anew; those that hold now stay where the new ones are wrong."""
        try:
            # Files of the site on the root's own disk, read for a person who waits.
            read = await asyncio.to_thread(self.parts.read)  # noqa: TID251 - see above
            if self.parts.past is not None:
                await asyncio.to_thread(self.parts.past.read)  # noqa: TID251 - same
        except Mistake as mistake:
            self._problem = f"settings not taken over, the old ones hold: {mistake.what}"
            said = {"problem": mistake.what, "help": mistake.hint}
            self.parts.log.error("settings_refused", **said)  # noqa: TRY400 - a person's mistake, no trace
            return
        self._problem = None
        if _fixed(read) != _fixed(self.settings):
            self._problem = "agent.metrics, report and tools hold from the next start on"
        self.settings = read
        self.parts.log.info("settings_read", note=self._problem)

    async def _housekeeping(self) -> None:
        """Once a minute: what do we cost, which helper has nothing to do, is a release over."""
        meter = Meter(self.parts.node)
        while True:
            self._cost = await meter.measure(self._pids())
            if self._live is not None:
                self._live.rest(IDLE_S)
            await self._releasing.look()
            await self.parts.node.sleep(PERIOD_S)

    def _pids(self) -> list[int]:
        return [] if self._live is None else self._live.pids()

    def age_s(self) -> float | None:
        """Return how long ago the last walk was finished."""
        return None if self.walk is None else self.parts.node.monotonic() - self.walk.ended

    def about(self) -> About:
        """Return what the daemon says of itself."""
        keeping = self.parts.keeping
        helpers = () if self._live is None else self._live.helpers()
        return About(
            product=BUILD,
            pid=os.getpid(),
            up_s=self.parts.node.monotonic() - self._began,
            walk_s=self.settings.agent.walk_s,
            walks=keeping.state.sequence,
            cost=self._cost,
            helpers=len(self._pids()),
            left_behind=sum(helper.stuck for helper in helpers),
            log_left_out=self.parts.limit.suppressed,
            ended_before=keeping.ended_before,
            released_until=self._releasing.until,
            problems=tuple(filter(None, self._problems())),
            report=None if self.parts.reporting is None else self.parts.reporting.status(),
        )

    def _problems(self) -> tuple[str | None, ...]:
        past = self.parts.past
        kept = (self.parts.keeping.problem, past.problem if past is not None else None)
        return self._problem, *kept, self._releasing.changing

    async def _look(self, shape: Shape, within_s: float) -> Observation | Missing:
        if shape not in self._sampler.tracks:
            return self._newest(shape)
        return await self._sampler.look(self._sampler.tracks[shape], within_s=within_s)

    def _newest(self, shape: Shape) -> Observation | Missing:
        if shape in self._sampler.tracks:
            return self._sampler.newest(shape)
        return Missing(what=shape.__name__, cause=Cause.NOT_RECORDED, detail="no source of it")

    def gpus(self) -> tuple[GpuRow, ...]:
        """Return the GPUs, one row each."""
        snapshot, health = self._newest(GpuSnapshot), self._newest(GpuHealth)
        holders = self._newest(GpuHolders)
        assert isinstance(snapshot, GpuSnapshot | Missing)
        assert isinstance(health, GpuHealth | Missing)
        assert isinstance(holders, GpuHolders | Missing)
        return gpus.rows(snapshot, health, holders)

    def owners(self) -> Owners:
        """Return whose jobs and processes are whose."""
        holders = self._newest(GpuHolders)
        return view.owners(holders.holders if isinstance(holders, GpuHolders) else ())

    def sources(self) -> list[SourceState]:
        """Return every source, as it stands."""
        return self._sampler.states()

    def drain(self) -> frozenset[str]:
        """Return the faults that the policy names."""
        return self.settings.drain

    async def release(self, seconds: float) -> list[str]:
        """Let go of the driver for so long, return what still holds it; 0 asks it again."""
        self.parts.log.warning("driver_released", seconds=seconds)
        return await self._releasing.release(seconds)

    def acknowledge(self, name: str) -> Life | None:
        """Note that a person knows of an incident; None where none has this fingerprint."""
        return self.parts.keeping.acknowledge(name)

    def newest(self, name: str) -> tuple[Observation, float] | None:
        """Return the newest observation of that name with its age; None where there is none."""
        for shape in self._sampler.tracks:
            if shape.__name__ == name:
                seen, age = self._sampler.newest(shape), self._sampler.age_s(shape)
                return None if isinstance(seen, Missing) or age is None else (seen, age)
        return None


def _fixed(settings: Settings) -> object:
    return settings.agent.metrics, settings.report, settings.tools
