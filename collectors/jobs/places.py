"""Where the ranks of a job that stands still are in the kernel."""

from collections.abc import Iterable

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.jobs.ranks import Rank
from collectors.node.protocol import Node

MOST_RANKS = 256


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """`wchan` is the kernel function in which a process waits, `stack` the functions above it."""

    pid: int
    wchan: str | None = None
    stack: tuple[str, ...] = ()


class RankPlaces(Observation, frozen=True, kw_only=True):
    """The places of ranks that are looked at."""

    places: tuple[Place, ...] = ()

    def of(self, pid: int) -> Place | None:
        """Return where one process is, None where that is not known."""
        return next((place for place in self.places if place.pid == pid), None)


async def ask(node: Node, ranks: Iterable[Rank]) -> RankPlaces | Missing:
    """Ask where these ranks wait; none of them is stopped or traced for it."""
    pids = [rank.pid for rank in ranks][:MOST_RANKS]
    if not pids:
        return RankPlaces()
    answer = await node.ask("blocked", deadline_s=2.0, pids=pids)
    if isinstance(answer, Missing):
        return answer
    try:
        places = [{**place, "pid": int(pid)} for pid, place in answer.items()]
        return RankPlaces(places=msgspec.convert(places, tuple[Place, ...]))
    except (msgspec.ValidationError, AttributeError, TypeError, ValueError) as problem:
        return Missing(what="blocked", cause=Cause.GARBLED, detail=str(problem)[:200])
