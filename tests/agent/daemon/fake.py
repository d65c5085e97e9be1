"""A daemon that answers what a test gives it."""

import asyncio
from typing import Any

from agent.daemon.answers import About
from agent.daemon.cost import Cost
from agent.daemon.gpus import GpuRow
from agent.daemon.sampler import SourceState
from agent.daemon.view import Owners
from agent.daemon.walker import Walk
from collectors.facts.observation import Observation
from diagnostics.document import Document
from diagnostics.incidents.life import Life
from remediations.plan.situation import NOBODY, Acting


class Fake:
    """Everything the answers are made of, as attributes."""

    def __init__(self, walk: Walk | None = None, **given: Any) -> None:
        self.walk = walk
        self.seen_s: float | None = given.get("age_s", 3.0 if walk else None)
        self.named = frozenset(given.get("drain", ()))
        self.rows: tuple[GpuRow, ...] = given.get("rows", ())
        self.known: Owners = given.get("known", Owners())
        self.kept: dict[str, tuple[Observation, float]] = given.get("kept", {})
        self.lives: dict[str, Life] = given.get("lives", {})
        self.stories: dict[str, Document] = given.get("stories", {})
        self.acts: Acting = given.get("acting", NOBODY)
        self.released: list[float] = []

    def age_s(self) -> float | None:
        return self.seen_s

    def about(self) -> About:
        return About(
            product="gpudiag 0.1.0",
            pid=7,
            up_s=90.0,
            walk_s=30.0,
            walks=3,
            cost=Cost(cpu_s=1.5, core_share=0.0012, pss_bytes=28 << 20, processes=3),
            helpers=2,
            left_behind=0,
            log_left_out=0,
            released_until=1_796_000_000.0 if self.released and self.released[-1] else None,
        )

    def gpus(self) -> tuple[GpuRow, ...]:
        return self.rows

    def owners(self) -> Owners:
        return self.known

    def sources(self) -> list[SourceState]:
        return []

    def drain(self) -> frozenset[str]:
        return self.named

    async def release(self, seconds: float) -> list[str]:
        await asyncio.sleep(0)
        self.released.append(seconds)
        return []

    def newest(self, name: str) -> tuple[Observation, float] | None:
        return self.kept.get(name)

    def story(self, name: str) -> Document | None:
        return self.stories.get(name)

    def acknowledge(self, name: str) -> Life | None:
        return self.lives.get(name)

    def acting(self) -> Acting:
        return self.acts
