"""The walk: four stages in order, each collected at once and judged before the next begins."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from agent.walk.jobs import IN_WALK, jobs
from agent.walk.judged import Judged
from agent.walk.sources import by_shape
from agent.walk.walked import Walked
from collectors.catalog import Source
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.at_once import at_once
from collectors.node.protocol import Node
from diagnostics.catalog import WALK
from diagnostics.check import Check, Limits, Result
from diagnostics.finding import STAGES, Finding, Stage
from diagnostics.grace import settled
from diagnostics.rules.seen import TrainingLogs
from remediations.plan.standing import standing

# What need not be collected, None where it must be.
AtHand = Callable[[type[Observation]], Observation | Missing | None]

BUDGET_S = 20.0
LEAST_S = 1.0

# What makes a probe from this node worthless or harmful: the driver or a card does not answer.
HOLDS_BACK = frozenset({"driver_hung", "gpu_lost", "gpu_fell_off_bus", "gsp_timeout"})


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the catalogue is walked; empty means all."""

    stages: Collection[str] = ()
    checks: Collection[str] = ()

    def of(self, stage: Stage) -> tuple[Check, ...]:
        """Return the chosen checks of *stage*."""
        if self.stages and stage not in self.stages:
            return ()
        return tuple(
            c for c in WALK if c.stage == stage and (not self.checks or c.name in self.checks)
        )


async def walk(
    node: Node,
    wanted: Wanted,
    selection: Selection,
    limits: Mapping[str, Limits],
    sources: Mapping[type[Observation], Source] | None = None,
    *,
    at_hand: AtHand = lambda _: None,
    judged: Judged | None = None,
) -> tuple[Walked, ...]:
    """Walk the node once; ends within its budget whatever the node does.

    Who looks all the time has most of it *at_hand*, and what was *judged* before need not be again.
    """
    gather = Gather(node, wanted, by_shape() if sources is None else sources, at_hand)
    judged = judged or Judged()
    walked: list[Walked] = []
    began = node.monotonic()
    for stage in STAGES:
        if not (checks := selection.of(stage)):
            continue
        start = node.monotonic()
        hold = _holding(walked)
        await gather.collect(checks, hold, max(BUDGET_S - (start - began), LEAST_S))
        up = _uptime_s(gather)
        results = tuple(settled(judged.run(c, gather.seen, limits.get(c.name)), up) for c in checks)
        walked.append(
            Walked(
                stage=stage,
                results=results,
                seconds=node.monotonic() - start,
                held_back_by=hold if any(_held(r) for r in results) else None,
                jobs=_jobs(gather, results) if stage == "training" else (),
            )
        )
    return (*walked[:-1], *(_stands(last, gather) for last in walked[-1:]))


def _stands(last: Walked, gather: "Gather") -> Walked:
    return msgspec.structs.replace(last, standing=standing(gather.seen))


def _uptime_s(gather: "Gather") -> float | None:
    log = gather.seen.get(KernelLog)
    return log.uptime_s if isinstance(log, KernelLog) else None


def _jobs(gather: "Gather", results: Sequence[Result]) -> tuple[dict[str, Any], ...]:
    read = gather.seen.get(TrainingLogs)
    return jobs(read, results, IN_WALK) if isinstance(read, TrainingLogs) else ()


class Gather:
    """What has been seen of one node so far; each shape is collected once."""

    def __init__(
        self,
        node: Node,
        wanted: Wanted,
        sources: Mapping[type[Observation], Source],
        at_hand: AtHand = lambda _: None,
    ) -> None:
        self.seen: dict[type[Observation], Observation | Missing] = {}
        self._node = node
        self._wanted = wanted
        self._sources = sources
        self._at_hand = at_hand

    async def collect(self, checks: Sequence[Check], hold: Finding | None, budget_s: float) -> None:
        """Run the collectors that *checks* need, as `look` does."""
        await self.look((need.shape for check in checks for need in check.needs), hold, budget_s)

    async def look(
        self, shapes: Iterable[type[Observation]], hold: Finding | None, budget_s: float
    ) -> None:
        """Run the collectors of *shapes* at once, each on its own branch of time.

        Those that tell others something come first: the kernel log, before the driver is asked.
        """
        shapes = tuple(shapes)
        for shape in shapes:
            if shape not in self.seen and (seen := self._at_hand(shape)) is not None:
                self.seen[shape] = seen
        wanted = self._unseen(shapes)
        began = self._node.monotonic()
        while wanted:
            left = max(budget_s - (self._node.monotonic() - began), LEAST_S)
            ready = [source for source in wanted if self.seen.keys() >= set(source.after)]
            await at_once(self._node, [partial(self._one, one, hold, left) for one in ready])
            wanted = [source for source in wanted if source not in ready]

    async def one(self, shape: type[Observation], budget_s: float) -> Observation | Missing:
        """Return what is seen of one shape, collected now with what must come before it."""
        for source in self._unseen([shape]):
            self.seen[source.shape] = await self._ask(source, self._node, None, budget_s)
        return self.seen[shape]

    def _unseen(self, shapes: Iterable[type[Observation]]) -> list[Source]:
        """Return who collects *shapes*, and before each those that it must be told of."""
        found: dict[type[Observation], Source] = {}
        for shape in dict.fromkeys(shapes):
            if shape not in self.seen:
                source = self._sources[shape]
                found |= {one.shape: one for one in self._unseen(source.after)} | {shape: source}
        return list(found.values())

    async def _one(
        self, source: Source, hold: Finding | None, budget_s: float, branch: Node
    ) -> None:
        self.seen[source.shape] = await self._ask(source, branch, hold, budget_s)

    async def _ask(
        self, source: Source, branch: Node, hold: Finding | None, budget_s: float
    ) -> Observation | Missing:
        if source.active and hold is not None:
            detail = f"no probe is sent from a node with {hold.fault}"
            return _missing(source, Cause.HELD_BACK, detail)
        told = [self.seen[shape] for shape in source.after]
        return await collected(source, branch, self._wanted, told, budget_s)


async def collected(
    source: Source,
    node: Node,
    wanted: Wanted,
    told: Iterable[Observation | Missing],
    budget_s: float,
) -> Observation | Missing:
    """Return what one collector sees; late or broken, it is Missing with that as its cause."""
    try:
        async with asyncio.timeout(budget_s):
            return await source.collect(node, wanted, *told)
    except TimeoutError:
        return _missing(source, Cause.TIMEOUT, f"not done in {budget_s:.0f} s")
    except Exception as problem:  # noqa: BLE001 - a collector's bug must not hide what others see
        return _missing(source, Cause.CRASHED, repr(problem)[:300])


def _holding(walked: Sequence[Walked]) -> Finding | None:
    findings = (f for stage in walked for result in stage.results for f in result.findings)
    # What is over, or was seen only once, is a note and holds nothing back.
    return next((f for f in findings if f.fault in HOLDS_BACK and f.severity != "info"), None)


def _held(result: Result) -> bool:
    return any(missing.cause is Cause.HELD_BACK for missing in result.missing)


def _missing(source: Source, cause: Cause, detail: str) -> Missing:
    return Missing(what=source.shape.__name__, cause=cause, detail=detail)
