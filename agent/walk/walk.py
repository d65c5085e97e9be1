"""The walk: four stages in their order, each collected at once and judged before the next begins."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from collectors.catalog import Source, by_shape
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node
from diagnostics.catalog import WALK
from diagnostics.check import Check, Limits, Result
from diagnostics.finding import STAGES, Finding, Stage

BUDGET_S = 20.0

# What makes a probe from this node worthless or harmful: the driver or a card does not answer.
HOLDS_BACK = frozenset({"driver_hung", "gpu_lost", "gpu_fell_off_bus", "gsp_timeout"})


class Walked(msgspec.Struct, frozen=True, kw_only=True):
    """One stage after its walk: its results, how long it took, and which fault held probes back."""

    stage: Stage
    results: tuple[Result, ...]
    seconds: float
    held_back_by: Finding | None = None


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
) -> tuple[Walked, ...]:
    """Walk the node once; ends within its budget whatever the node does."""
    known = by_shape() if sources is None else sources
    seen: dict[type[Observation], Observation | Missing] = {}
    walked: list[Walked] = []
    began = node.monotonic()
    for stage in STAGES:
        if not (checks := selection.of(stage)):
            continue
        start = node.monotonic()
        hold = _holding(walked)
        left = max(BUDGET_S - (start - began), 1.0)
        await _collect(node, wanted, _sources(checks, known, seen), seen, hold, left)
        results = tuple(check.run(seen, limits.get(check.name)) for check in checks)
        walked.append(
            Walked(
                stage=stage,
                results=results,
                seconds=node.monotonic() - start,
                held_back_by=hold if any(_held(r) for r in results) else None,
            )
        )
    return tuple(walked)


def _holding(walked: Sequence[Walked]) -> Finding | None:
    findings = (f for stage in walked for result in stage.results for f in result.findings)
    return next((f for f in findings if f.fault in HOLDS_BACK), None)


def _held(result: Result) -> bool:
    return any(missing.cause is Cause.HELD_BACK for missing in result.missing)


def _sources(
    checks: Sequence[Check],
    known: Mapping[type[Observation], Source],
    seen: Mapping[type[Observation], Any],
) -> list[Source]:
    shapes = dict.fromkeys(need.shape for check in checks for need in check.needs)
    return [known[shape] for shape in shapes if shape not in seen]


async def _collect(
    node: Node,
    wanted: Wanted,
    sources: Sequence[Source],
    seen: dict[type[Observation], Observation | Missing],
    hold: Finding | None,
    budget_s: float,
) -> None:
    """Run the collectors at once, each on its own branch of the node's time."""

    async def one(source: Source, branch: Node) -> None:
        if source.active and hold is not None:
            detail = f"no probe is sent from a node with {hold.fault}"
            seen[source.shape] = _missing(source, Cause.HELD_BACK, detail)
            return
        try:
            async with asyncio.timeout(budget_s):
                seen[source.shape] = await source.collect(branch, wanted)
        except TimeoutError:
            seen[source.shape] = _missing(source, Cause.TIMEOUT, f"not done in {budget_s:.0f} s")
        except Exception as problem:  # noqa: BLE001 - a collector's bug must not hide what the others see
            seen[source.shape] = _missing(source, Cause.CRASHED, repr(problem)[:300])

    branches = [node.branch() for _ in sources]
    async with asyncio.TaskGroup() as group:
        for source, branch in zip(sources, branches, strict=True):
            group.create_task(one(source, branch), name=f"collect:{source.shape.__name__}")
    node.join(branches)


def _missing(source: Source, cause: Cause, detail: str) -> Missing:
    return Missing(what=source.shape.__name__, cause=cause, detail=detail)
