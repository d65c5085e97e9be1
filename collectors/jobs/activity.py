"""What the ranks of this node did so far: processor time, and bytes read and written."""

from collections.abc import Mapping

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.jobs.ranks import LocalRanks
from collectors.node.protocol import Node


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of one process since its start: `ticks` of 10 ms, `bytes` by any call."""

    ticks: int
    bytes: int


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """The counters by pid at `at` seconds of the node's clock that is never set."""

    at: float
    work: Mapping[int, Work] = {}


async def ask(node: Node, ranks: LocalRanks) -> Activity | Missing:
    """Ask for the counters of every rank."""
    pids = [rank.pid for rank in ranks.ranks]
    if not pids:
        return Activity(at=node.monotonic())
    answer = await node.ask("activity", deadline_s=3.0, pids=pids)
    if isinstance(answer, Missing):
        return answer
    try:
        work = msgspec.convert(answer, dict[int, Work], strict=False)
    except msgspec.ValidationError as problem:
        return Missing(what="activity", cause=Cause.GARBLED, detail=str(problem)[:200])
    return Activity(at=node.monotonic(), work=work)
