"""How a job is set up on its other nodes: the agent knows it, by way of the aggregator."""

from collections.abc import Mapping

import msgspec

from collectors.facts.observation import Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node


class Alike(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes have one value of a setting, this one among them; `some` are a few of them.

    `value` is None where they do not set it.
    """

    nodes: int
    value: str | None = None
    some: tuple[str, ...] = ()


class Across(msgspec.Struct, frozen=True, kw_only=True):
    """One job: how many nodes told of it, and by setting the values in which they differ."""

    nodes: int
    differing: Mapping[str, tuple[Alike, ...]] = {}


class JobsElsewhere(Observation, frozen=True, kw_only=True):
    """The jobs of this node of which other nodes told, by the scheduler's id."""

    jobs: Mapping[str, Across] = {}


async def collect(node: Node, wanted: Wanted) -> JobsElsewhere:
    """Return that nobody told: a node alone knows nothing of others."""
    del node, wanted
    return JobsElsewhere()
