"""This node's jobs beside the same jobs on their other nodes, by way of the aggregator."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from aggregator.wire import Compared as Word
from aggregator.wire import JobSettings, Receipt
from collectors.catalog import Source
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.nccl import NcclSettings, RankSettings
from collectors.network.elsewhere import Across, Alike, JobsElsewhere
from collectors.node.protocol import Node
from diagnostics.nccl import words
from diagnostics.nccl.telling import told

# Four heartbeats, as long as the aggregator itself holds a node's word to be fresh.
FRESH_S = 120.0
MOST_JOBS = 16


class Compared:
    """Tells which jobs run here and how they are set up, and keeps what comes back of them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._jobs: dict[str, str] = {}
        self._settings: tuple[JobSettings, ...] = ()
        self._words: dict[str, tuple[Word, float]] = {}

    def asks(self) -> tuple[JobSettings, ...]:
        """Return the settings of the jobs that have other nodes, as they were last seen."""
        return self._settings

    def told(self, receipt: Receipt) -> None:
        """Take what the aggregator says of the jobs asked for."""
        at = self._clock()
        for key, word in receipt.jobs.items():
            if key in self._jobs:
                self._words[key] = word, at
        self._words = {key: said for key, said in self._words.items() if key in self._jobs}

    def behind(self, source: Source) -> Source:
        """Return a source with what it sees remembered, or answered from what was told."""
        if source.shape is JobsElsewhere:
            return msgspec.structs.replace(source, collect=self.collect)
        if source.shape is NcclSettings:
            return msgspec.structs.replace(source, collect=self._seeing(source))
        return source

    def _seeing(self, source: Source) -> Callable[..., Any]:
        async def collect(*given: Any) -> Observation | Missing:  # noqa: ANN401 - the source's own
            seen = await source.collect(*given)
            self._saw(seen if isinstance(seen, NcclSettings) else NcclSettings())
            return seen

        return collect

    def _saw(self, seen: NcclSettings) -> None:
        """Remember the jobs; where a file could not be read a node would seem to differ."""
        spread = [
            (job, ranks)
            for job, ranks in seen.jobs().items()
            if seen.unread is None and job.isdecimal() and words.spans_nodes(ranks)
        ][:MOST_JOBS]
        self._jobs = {key_of(job, ranks[0]): job for job, ranks in spread}
        self._settings = tuple(
            JobSettings(job=key_of(job, ranks[0]), settings=dict(told(ranks)))
            for job, ranks in spread
        )

    async def collect(self, node: Node, wanted: Wanted) -> JobsElsewhere:
        """Return what the other nodes of this node's jobs said lately."""
        del node, wanted
        now = self._clock()
        return JobsElsewhere(
            jobs={
                self._jobs[key]: _across(word)
                for key, (word, at) in self._words.items()
                if key in self._jobs and now - at <= FRESH_S
            }
        )


def key_of(job: str, rank: RankSettings) -> str:
    """Return a job's name between nodes: steps of one job may be two programs, set up apart."""
    master = rank.settings.get("MASTER_ADDR")
    parts = (job, master.value if master else "", str(rank.world))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _across(word: Word) -> Across:
    return Across(
        nodes=word.nodes,
        differing={
            name: tuple(Alike(nodes=g.nodes, value=g.value, some=g.some) for g in groups)
            for name, groups in word.differing.items()
        },
    )
