"""Every source of a walk: what collectors see, and what the rules make of the logs they read."""

from agent.walk import kernel, logs, progress, runs, suspects
from collectors import catalog
from collectors.catalog import FAST_S, Source, source
from collectors.facts.observation import Observation

SOURCES: tuple[Source, ...] = (
    *catalog.SOURCES,
    source(logs.collect),
    source(kernel.collect, period_s=FAST_S),
    source(progress.collect, period_s=FAST_S),
    source(runs.collect),
    source(suspects.status, period_s=FAST_S),
    source(suspects.dumps, period_s=FAST_S),
    source(suspects.stood, period_s=FAST_S),
)


def by_shape() -> dict[type[Observation], Source]:
    """Return the sources by what they collect."""
    return {entry.shape: entry for entry in SOURCES}
