"""How node and daemon stand now: what the socket, the metrics and the reports are made of."""

import os
from collections.abc import Callable

from agent import BUILD
from agent.daemon import gpus, view
from agent.daemon.answers import About
from agent.daemon.gpus import GpuRow
from agent.daemon.housekeeping import Housekeeping
from agent.daemon.parts import Parts
from agent.daemon.releasing import Releasing
from agent.daemon.reloading import Reloading
from agent.daemon.sampler import Sampler, SourceState
from agent.daemon.view import Owners
from agent.daemon.walker import Walk
from collectors.facts.observation import Missing, Observation
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import GpuSnapshot
from collectors.host.holders import GpuHolders
from diagnostics.document import Document
from diagnostics.incidents.life import Life
from remediations.plan.situation import NOBODY, Acting


class Standing:
    """The last walk, the newest observations, and the daemon itself."""

    walk: Walk | None = None
    acts: Callable[[], Acting]

    def __init__(
        self,
        parts: Parts,
        sampler: Sampler,
        reloading: Reloading,
        releasing: Releasing,
        housekeeping: Housekeeping,
    ) -> None:
        self._parts = parts
        self._began = parts.node.monotonic()
        self._sampler = sampler
        self._reloading = reloading
        self._releasing = releasing
        self._housekeeping = housekeeping
        self.acts = lambda: NOBODY
        # What keeps the node from acting where the site wants it to.
        self.unable: Callable[[], str | None] = lambda: None

    def up_s(self) -> float:
        """Return how long ago the daemon began."""
        return self._parts.node.monotonic() - self._began

    def age_s(self) -> float | None:
        """Return how long ago the last walk was finished."""
        return None if self.walk is None else self._parts.node.monotonic() - self.walk.ended

    def about(self) -> About:
        """Return what the daemon says of itself."""
        keeping, reporting = self._parts.keeping, self._parts.reporting
        return About(
            product=BUILD,
            pid=os.getpid(),
            up_s=self.up_s(),
            walk_s=self._reloading.settings.agent.walk_s,
            walks=keeping.state.sequence,
            cost=self._housekeeping.cost,
            helpers=len(self._housekeeping.pids()),
            left_behind=self._housekeeping.stuck(),
            log_left_out=self._parts.limit.suppressed,
            ended_before=keeping.ended_before,
            released_until=self._releasing.until,
            problems=tuple(filter(None, self._problems())),
            report=None if reporting is None else reporting.status(),
        )

    def _problems(self) -> tuple[str | None, ...]:
        past = self._parts.past
        files = (self._parts.keeping, past, self._parts.probed)
        kept = (file.problem for file in files if file is not None)
        return self._reloading.problem, *kept, self._releasing.changing, self.unable()

    def gpus(self) -> tuple[GpuRow, ...]:
        """Return the GPUs, one row each."""
        newest = self._sampler.newest
        snapshot, health, holders = newest(GpuSnapshot), newest(GpuHealth), newest(GpuHolders)
        assert isinstance(snapshot, GpuSnapshot | Missing)
        assert isinstance(health, GpuHealth | Missing)
        assert isinstance(holders, GpuHolders | Missing)
        return gpus.rows(snapshot, health, holders)

    def owners(self) -> Owners:
        """Return whose jobs and processes are whose."""
        holders = self._sampler.newest(GpuHolders)
        return view.owners(holders.holders if isinstance(holders, GpuHolders) else ())

    def sources(self) -> list[SourceState]:
        """Return every source, as it stands."""
        return self._sampler.states()

    def drain(self) -> frozenset[str]:
        """Return the faults that the policy names."""
        return self._reloading.settings.drain

    async def release(self, seconds: float) -> list[str]:
        """Let go of the driver for so long, return what still holds it; 0 asks it again."""
        self._parts.log.warning("driver_released", seconds=seconds)
        return await self._releasing.release(seconds)

    def acknowledge(self, name: str) -> Life | None:
        """Note that a person knows of an incident; None where none has this fingerprint."""
        return self._parts.keeping.acknowledge(name)

    def story(self, name: str) -> Document | None:
        """Return what was told last of an incident that is over; None where none is kept."""
        return self._parts.keeping.story(name)

    def acting(self) -> Acting:
        """Return what the plan of the last walk rested on beside it."""
        return self.acts()

    def newest(self, name: str) -> tuple[Observation, float] | None:
        """Return the newest observation of that name with its age; None where there is none."""
        for shape in self._sampler.tracks:
            if shape.__name__ == name:
                seen, age = self._sampler.newest(shape), self._sampler.age_s(shape)
                return None if isinstance(seen, Missing) or age is None else (seen, age)
        return None
