"""The daemon put together: its services, what they share, how it starts and ends."""

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial

from agent import BUILD
from agent.daemon import inventory, metrics
from agent.daemon.acting import remedying
from agent.daemon.driver_change import DriverChange
from agent.daemon.endpoint import Endpoint
from agent.daemon.exporter import Exporter
from agent.daemon.heat import PACE, Heat
from agent.daemon.housekeeping import Housekeeping
from agent.daemon.kernel import Listening
from agent.daemon.notify import Notify
from agent.daemon.parts import Parts
from agent.daemon.probing import Probing
from agent.daemon.releasing import Releasing
from agent.daemon.reloading import Reloading
from agent.daemon.sampler import Sampler
from agent.daemon.standing import Standing
from agent.daemon.supervise import supervise
from agent.daemon.walker import Walk, Walker
from aggregator.wire import Receipt
from collectors.catalog import Source
from collectors.facts.observation import Missing, Observation
from collectors.helpers.children import heap
from remediations.act import hand

END_S = 4.0

Task = tuple[str, Callable[[], Awaitable[None]]]


class Service:
    """One daemon on one node."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._page: bytes | None = b""
        self._notify = Notify()
        self._stop = asyncio.Event()
        self._reloading = Reloading(parts.settings, parts.read, parts.past, self._notify, parts.log)
        self._releasing = Releasing(parts.node, parts.keeping)
        self._housekeeping = Housekeeping(parts.node, self._releasing)
        self._probing = Probing(parts.node, self._reloading.wanted, parts.probed)
        if parts.reporting is not None:
            parts.reporting.ask_of(self._probing.asks, self._heard)
        self._heat = Heat(
            parts.node,
            self._newest,
            hand.ActorHand(hand.SOCKET),
            parts.log,
            PACE,
        )
        self._sampler = Sampler(
            parts.node, self._sources(), self._reloading.wanted, parts.log, parts.chance
        )
        self._acting = remedying(parts, self._sampler.newest)
        self._standing = Standing(
            parts, self._sampler, self._reloading, self._releasing, self._housekeeping
        )
        self._standing.acts = lambda: self._acting.now
        self._standing.unable = lambda: self._acting.problem

    def _newest(self, shape: type[Observation]) -> Observation | Missing:
        return self._sampler.newest(shape)

    def _sources(self) -> tuple[Source, ...]:
        sources = self._heat.behind(self._probing.behind(self._parts.sources))
        past = self._parts.past
        return tuple(sources if past is None else past.tell(sources))

    def _heard(self, receipt: Receipt) -> None:
        """Take what the aggregator said of the peers, and of work on this node."""
        self._probing.told(receipt)
        if self._parts.past is not None:
            self._parts.past.maintenance.told(receipt.maintenance)

    async def run(self) -> None:
        """Run until TERM or INT; done within 5 s of it, whatever helpers do."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reloading.asked.set)
        self._parts.log.info("started", product=BUILD, pid=os.getpid())
        heap.keep_little()
        await self._begin()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(supervise(name, service, self._parts.log))
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
        parts, look = self._parts, self._sampler.see
        services: list[Task] = [
            ("sources", self._sampler.run),
            ("walk", self._walker().run),
            ("probes", self._probing.run),
            ("socket", Endpoint(self._standing, parts.listening, parts.group).run),
            ("settings", self._reloading.run),
            ("housekeeping", self._housekeeping.run),
            ("acting", self._acting.run),
            ("heat", self._heat.run),
            ("driver", DriverChange(parts.node, look, self._releasing, parts.log).run),
        ]
        if address := self._reloading.settings.agent.metrics:
            exporter = Exporter(address, self._metrics, parts.log)
            services.append(("metrics", exporter.run))
        if parts.alarm is not None:
            if parts.listen is not None:
                listening = Listening(parts.node, look, parts.listen, parts.alarm.ring)
                services.append(("kernel", listening.run))
            services.append(("links", partial(parts.alarm.watch, parts.node)))
        if parts.reporting is not None:
            services += parts.reporting.services()
        return services

    def _walker(self) -> Walker:
        parts = self._parts
        return Walker(
            parts.node,
            self._sampler,
            lambda: self._reloading.settings,
            self._finished,
            parts.chance,
            past=parts.past,
            alarm=parts.alarm,
            acting=lambda: self._acting.now,
        )

    async def _begin(self) -> None:
        identity = await self._parts.node.identity()
        ended = self._parts.keeping.begin(identity.boot_id)
        if ended is not None:
            self._parts.log.warning("ended_before", how=ended)
        await self._releasing.look()
        if self._parts.past is not None:
            self._parts.past.begin(identity.node, identity.kernel)
        if self._parts.probed is not None:
            self._parts.probed.begin(identity.node, identity.boot_id)
        if self._parts.reporting is not None:
            await self._parts.reporting.start()

    async def _end(self) -> None:
        self._parts.log.info("stopping", up_s=round(self._standing.up_s()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self._parts.node.close()
                if self._parts.reporting is not None:
                    await self._parts.reporting.close()
        self._acting.close()
        self._parts.keeping.end()
        self._notify.close()

    def _metrics(self) -> bytes:
        """Return the page of the last walk, made when it is first asked for."""
        if self._page is None:
            now, tracks = self._standing, self._sampler.tracks.values()
            self._page = metrics.render(now.about(), now.walk, now.age_s(), tracks, now.gpus())
        return self._page

    def _finished(self, walk: Walk) -> None:
        """Take a finished walk: remember, tell, and only then say that we live."""
        now = self._standing
        if now.walk is None:
            _settled()
        now.walk = kept = self._parts.keeping.walked(walk)
        self._acting.walked(kept)
        newest = self._sampler.newest
        if self._parts.past is not None:
            self._parts.past.learn(newest, walk.ended, self._parts.node.now())
        self._page = None
        if self._parts.reporting is not None:
            self._parts.reporting.walked(kept, lambda: inventory.taken(newest, now.gpus()))
        document = kept.document
        self._notify.walked(
            f"{document.verdict}, {len(document.incidents)} incidents, "
            f"walk {self._parts.keeping.state.sequence} took {document.seconds or 0.0:.1f} s"
        )


def _settled() -> None:
    """Keep what is there by now out of the collector's sight: it came to stay."""
    gc.collect()
    gc.freeze()
    heap.trim()
