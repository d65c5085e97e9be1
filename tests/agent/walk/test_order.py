"""What one collector must know of another is seen first, and handed to it."""

import asyncio
from pathlib import Path

from agent.walk.sources import SOURCES
from agent.walk.walk import Selection, walk
from collectors.catalog import Source, source
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu.nvml import GpuSnapshot
from collectors.node.protocol import Node
from tests.recording import recorded

TOLD: list[KernelLog | Missing] = []


async def _snapshot(node: Node, wanted: Wanted, log: KernelLog | Missing) -> GpuSnapshot | Missing:
    del node, wanted
    TOLD.append(log)
    return GpuSnapshot(loaded=False)


async def _log(node: Node, wanted: Wanted) -> KernelLog | Missing:
    del wanted
    await node.sleep(3.0)
    return Missing(what="KernelLog", cause=Cause.DENIED, detail="only root sees this")


def test_the_kernel_log_is_read_before_the_driver_is_asked(tmp_path: Path) -> None:
    """A check that needs no log still has its collector told of it, once and in time."""
    sources: dict[type[Observation], Source] = {
        GpuSnapshot: source(_snapshot),
        KernelLog: source(_log),
    }
    missing = Missing(what="x", cause=Cause.NOT_RECORDED, detail="x")

    async def other(node: Node, wanted: Wanted) -> Missing:
        del node, wanted
        return missing

    for entry in SOURCES:
        sources.setdefault(entry.shape, entry.__class__(shape=entry.shape, collect=other))
    node = recorded(tmp_path)
    TOLD.clear()
    asyncio.run(walk(node, Wanted(), Selection(checks=("driver.answers",)), {}, sources))

    assert ([Cause.DENIED], 3.0) == (
        [told.cause for told in TOLD if isinstance(told, Missing)],
        node.monotonic(),
    )


def test_no_collector_waits_for_one_that_waits_for_it() -> None:
    """Whom a collector must be told of is collected before it, whom that one needs before that."""
    after = {entry.shape: set(entry.after) for entry in SOURCES}
    told: set[type[Observation]] = set()
    while ready := {shape for shape in after.keys() - told if after[shape] <= told}:
        told |= ready

    assert set(after) == told
