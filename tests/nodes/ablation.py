"""A recorded node of which one source does not answer, judged anew."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from agent.cli.run import open_node
from agent.settings.load import Settings
from agent.walk.report import build
from agent.walk.sources import by_shape
from agent.walk.walk import Selection, walk
from collectors.catalog import Source
from collectors.facts.observation import Cause, Missing, Observation
from diagnostics.document import Document
from tests.nodes.replay import NODES

Shape = type[Observation]
Seen = dict[Shape, Observation | Missing]


@dataclass(frozen=True)
class Whole:
    """A node's diagnosis by all that its sources saw of it."""

    document: Document
    seen: Seen

    @property
    def answered(self) -> tuple[Shape, ...]:
        """Return what was seen, in an order of names."""
        there = (shape for shape, got in self.seen.items() if not isinstance(got, Missing))
        return tuple(sorted(there, key=lambda shape: shape.__name__))


def whole(name: str) -> Whole:
    """Return the diagnosis of one recorded node, and what its sources saw."""
    seen: Seen = {}
    sources = {shape: _noting(source, seen) for shape, source in by_shape().items()}
    return Whole(_walked(name, sources), seen)


def without(name: str, node: Whole, shape: Shape) -> Document:
    """Return the diagnosis when the source of *shape* does not answer in time.

    What is made of it is collected anew; the others say what they said.
    """
    sources = by_shape()
    anew = _made_of(shape, sources)
    silent = Missing(what=shape.__name__, cause=Cause.TIMEOUT, detail="no answer in 5 s")
    said = {**node.seen, shape: silent}
    kept = {one: _saying(sources[one], said[one]) for one in said if one not in anew - {shape}}
    return _walked(name, {**sources, **kept})


def _made_of(shape: Shape, sources: Mapping[Shape, Source]) -> set[Shape]:
    found = {shape}
    while more := {s.shape for s in sources.values() if found & set(s.after)} - found:
        found |= more
    return found


def _noting(source: Source, seen: Seen) -> Source:
    async def collect(*told: object) -> Observation | Missing:
        seen[source.shape] = await source.collect(*told)
        return seen[source.shape]

    return msgspec.structs.replace(source, collect=collect)


def _saying(source: Source, answer: Observation | Missing) -> Source:
    async def collect(*_: object) -> Observation | Missing:
        return answer

    return msgspec.structs.replace(source, collect=collect)


def _walked(name: str, sources: Mapping[Shape, Source]) -> Document:
    node, settings, logs = open_node(str(NODES / name), None, Settings(), ())

    async def look() -> Document:
        try:
            identity, started = await node.identity(), node.now()
            wanted = settings.wanted(logs)
            walked = await walk(node, wanted, Selection(), settings.limits, sources)
            return build(walked, identity, started=started, seconds=0.0, strict=False)
        finally:
            await node.close()

    return asyncio.run(look())
