"""R13: what hangs for ever costs a few processes and its own source, over any number of cycles."""

import asyncio
import itertools
import random
from typing import Any

import pytest

from agent.daemon.sampler import Sampler
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.helpers.helper import MOST_STUCK, Helper
from collectors.node.protocol import Node
from tests.agent.daemon.virtual import Said, Still, every, for_a_while, virtually

CYCLES = 1_000
PERIOD_S, DEADLINE_S = 10.0, 5.0


class Nvml(Observation, frozen=True):
    """What never answers."""


class Uptime(Observation, frozen=True):
    """What answers at once."""


class Deaf:
    """A helper in the kernel: it takes the question, never answers, and no signal ends it."""

    started = 0

    def __init__(self) -> None:
        type(self).started += 1
        self.pid: int | None = 4_000_000 + self.started
        self.gone = False
        self.reader = asyncio.StreamReader()
        self.writer = Void()

    def end(self) -> None:
        """Do nothing: it sleeps uninterruptibly."""

    async def ended(self) -> None:
        await asyncio.Event().wait()


class Void:
    """Where a question goes."""

    def write(self, data: bytes) -> None:
        del data

    async def drain(self) -> None:
        return


@pytest.mark.parametrize("resource", ["nvml", "bmc", "ibping", "mount:/scratch", "smart:nvme0"])
def test_a_resource_that_hangs_for_ever(resource: str) -> None:
    """In 1,000 cycles two processes are left and no more, the answer is never later than asked.

    The others keep their period to the second, the hang is told within deadline and a second, and
    it is said once.
    """
    Deaf.started = 0
    told: list[float] = []
    kept: list[float] = []
    said = Said()

    async def main() -> None:
        node = Still()

        async def link() -> Any:
            return Deaf()

        helper = Helper(resource, link)

        async def hangs(of: Node, wanted: Wanted) -> Nvml | Missing:
            del wanted
            began = of.monotonic()
            got = await helper.ask("verb", deadline_s=DEADLINE_S)
            assert isinstance(got, Missing)
            assert got.cause is Cause.TIMEOUT
            told.append(of.monotonic() - began)
            return got

        async def answers(of: Node, wanted: Wanted) -> Uptime | Missing:
            del wanted
            kept.append(of.monotonic())
            return Uptime()

        sources = [every(hangs, Nvml, PERIOD_S), every(answers, Uptime, PERIOD_S)]
        chance = random.Random(3)  # noqa: S311 - the same at each run
        sampler = Sampler(node, sources, Wanted, said, chance)
        await for_a_while(sampler.run(), CYCLES * PERIOD_S)
        for _ in range(CYCLES):
            await helper.ask("verb", deadline_s=DEADLINE_S)

    virtually(main)
    # The first look is at the start, and the second in the phase that spreads the sources.
    pauses = [later - one for one, later in itertools.pairwise(kept[2:])]

    assert (MOST_STUCK, True, True, ["source_failing"]) == (
        Deaf.started,
        max(told) <= DEADLINE_S + 1.0,
        all(abs(pause - PERIOD_S) <= 1.0 for pause in pauses) and len(pauses) > CYCLES - 10,
        said.of("source_failing"),
    )
