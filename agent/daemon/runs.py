"""What the runs of this node took before: kept over restarts, and handed to who judges their logs.

The first steps of each run are never learnt anew: what gets slower for good stays slower than
they were. Of runs that have ended their middle values are kept, by the name of their log.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from agent.daemon import state
from collectors.catalog import Source
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.job_logs import JobLogs
from collectors.node.protocol import Node
from diagnostics.rules.seen import TrainingLogs
from diagnostics.series import runs
from diagnostics.series.runs import Run, RunsBefore, Usual

NAME = "runs.json"


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    """The file: runs by the path of their log, the last one to be seen last; ended ones by name."""

    schema: Literal["gpudiag.runs/1"] = "gpudiag.runs/1"
    node: str | None = None
    runs: dict[str, Run] = {}
    names: dict[str, tuple[Usual, ...]] = {}


class KeptRuns:
    """The runs of this node; made before the loop runs, because it reads a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: state.Writer | None = None
        self._node: str | None = None
        self._damage: str | None = None
        self._kept = Runs()
        self.read()

    @property
    def problem(self) -> str | None:
        """Return what is wrong with the file, or was when it was read."""
        return (self._writer.problem if self._writer else None) or self._damage

    def read(self) -> None:
        """Read the file anew: without it, all is forgotten."""
        kept, self._damage = state.load(self._folder / NAME, Runs)
        self._kept = kept or Runs()

    def begin(self, node: str) -> None:
        """Say how this node is called; a disk that was copied from another has another's runs."""
        self._node = node
        if self._kept.node != node:
            self._kept = Runs(node=node)

    def learn(self, logs: TrainingLogs | Missing | None, found: JobLogs | Missing | None) -> None:
        """Take what the logs of running jobs show now."""
        if not isinstance(logs, TrainingLogs) or not isinstance(found, JobLogs):
            return
        jobs = {log.path: log.job for log in found.logs}
        now = dict(self._kept.runs)
        for log in logs.logs:
            path = runs.path_of(log.name)
            if path not in jobs:
                continue
            run = runs.learned(now.get(path), jobs[path], log.name, log.curve)
            if run is not None:
                now.pop(path, None)
                now[path] = run
        if now != self._kept.runs:
            self._keep(now)

    def _keep(self, now: dict[str, Run]) -> None:
        """Keep the runs that were seen last, and of each that gave way its middle values."""
        last = dict(list(now.items())[-runs.MOST_RUNS :])
        over = [run for path, run in self._kept.runs.items() if _over(run, last.get(path))]
        names = ended(self._kept.names, over)
        written = {path: run.steps for path, run in self._kept.runs.items()}
        self._kept = Runs(node=self._node, runs=last, names=names)
        # Their newest steps change each time, and are no reason to write.
        if over or written != {path: run.steps for path, run in last.items()}:
            self._write()

    def _write(self) -> None:
        if self._writer is None:
            self._writer = state.Writer(self._folder, partial(state.write, name=NAME), NAME)
        self._writer.put(self._kept)

    def close(self, patience_s: float = 0.5) -> bool:
        """Write what waits; return whether that was done in time. Not for the loop: it waits."""
        return self._writer is None or self._writer.close(patience_s)

    @property
    def before(self) -> RunsBefore:
        """Return what is known."""
        source = f"{self._folder / NAME}"
        return RunsBefore(source=source, runs=self._kept.runs, names=self._kept.names)

    def behind(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Return the sources, of which one tells what is known."""

        def behind(one: Source) -> Source:
            if one.shape is not RunsBefore:
                return one
            return msgspec.structs.replace(one, collect=self._collect)

        return tuple(map(behind, sources))

    async def _collect(self, node: Node, wanted: Wanted) -> Observation:
        del node, wanted
        return self.before


def _over(run: Run, now: Run | None) -> bool:
    """Return whether a run gave way to another one in the same log, or to newer logs."""
    return now is None or (now.job, now.began) != (run.job, run.began)


def ended(
    names: Mapping[str, tuple[Usual, ...]], over: Iterable[Run]
) -> dict[str, tuple[Usual, ...]]:
    """Return the middle values by name with those of runs that are over."""
    found = dict(names)
    for run in over:
        if not run.provisional:
            name = runs.name_of(run.log, run.alike)
            found[name] = (*found.pop(name, ()), runs.usual(run))[-runs.MOST_EARLIER :]
    return dict(list(found.items())[-runs.MOST_NAMES :])
