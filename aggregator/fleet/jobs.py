"""How the nodes of each job are set up, by their heartbeats; compared when one of them asks."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from aggregator.fleet.ping_servers import MOST_NODES
from aggregator.wire import Alike, Compared, JobSettings

FRESH_S = 120.0
"""Four heartbeats; a node that is silent for longer may have another job by now."""
MOST_JOBS, MOST_SETTINGS, MOST_GROUPS, SOME = 16, 32, 64, 4
JOB = re.compile(r"[0-9a-f]{16}")
NAME = re.compile(r"NCCL_[A-Z0-9_]{1,60}", re.ASCII)
VALUE = re.compile(r"[A-Za-z0-9_.,:;=^+#-]{0,80}", re.ASCII)

Settings = frozenset[tuple[str, str]]


class Told(NamedTuple):
    """What a node said last: when by its clock, and its jobs."""

    sent: float
    jobs: Mapping[str, Settings]


class Job:
    """One job: when each node last told of it, and the nodes by what they have set."""

    def __init__(self) -> None:
        self.heard: dict[str, float] = {}
        self.groups: dict[Settings, dict[str, None]] = {}
        self.swept = 0.0

    def leave(self, node: str, settings: Settings) -> None:
        """Forget a node."""
        self.heard.pop(node, None)
        group = self.groups.get(settings, {})
        group.pop(node, None)
        if not group:
            self.groups.pop(settings, None)


class Jobs:
    """The jobs of all nodes, as long as their nodes tell of them."""

    def __init__(self) -> None:
        self._told: dict[str, Told] = {}
        self._jobs: dict[str, Job] = {}

    def heard(self, node: str, jobs: Iterable[JobSettings], sent: float, received: float) -> None:
        """Take a heartbeat's word; of jobs that it does not name the node is no part any more."""
        last = self._told.get(node)
        if last is not None and sent < last.sent:
            return
        now = {one.job: frozenset(one.settings.items()) for one in jobs}
        if last is not None:
            self._left(node, {job: s for job, s in last.jobs.items() if now.get(job) != s})
        if not now:
            self._told.pop(node, None)
            return
        if len(self._told) >= MOST_NODES:
            self._told.clear()
            self._jobs.clear()
        self._told[node] = Told(sent, now)
        for name, settings in now.items():
            job = self._jobs.setdefault(name, Job())
            job.heard[node] = received
            job.groups.setdefault(settings, {})[node] = None

    def _left(self, node: str, jobs: Mapping[str, Settings]) -> None:
        for name, settings in jobs.items():
            job = self._jobs.get(name)
            if job is None:
                continue
            job.leave(node, settings)
            if not job.heard:
                del self._jobs[name]

    def compared(self, jobs: Iterable[str], now: float) -> dict[str, Compared]:
        """Return how the nodes of these jobs differ; nothing of a job that one node alone has."""
        found = {}
        for name in jobs:
            self._sweep(name, now)
            job = self._jobs.get(name)
            if job is not None and len(job.heard) > 1 and len(job.groups) <= MOST_GROUPS:
                found[name] = Compared(nodes=len(job.heard), differing=_differing(job))
        return found

    def _sweep(self, name: str, now: float) -> None:
        """Let go of nodes that were silent for too long; not at each question, they are many."""
        job = self._jobs.get(name)
        if job is None or now - job.swept < FRESH_S / 4:
            return
        job.swept = now
        for node in [node for node, at in job.heard.items() if now - at > FRESH_S]:
            told = self._told.pop(node)
            self._left(node, told.jobs)


def _differing(job: Job) -> dict[str, tuple[Alike, ...]]:
    if len(job.groups) < 2:  # noqa: PLR2004 - all are alike
        return {}
    by_group = [(dict(settings), nodes) for settings, nodes in job.groups.items()]
    names = sorted({name for settings, _ in by_group for name in settings})
    found = {}
    for name in names:
        values: dict[str | None, list[Mapping[str, None]]] = {}
        for settings, nodes in by_group:
            values.setdefault(settings.get(name), []).append(nodes)
        if len(values) > 1:
            found[name] = tuple(_alike(value, groups) for value, groups in values.items())
    return found


def _alike(value: str | None, groups: list[Mapping[str, None]]) -> Alike:
    some = islice((node for nodes in groups for node in nodes), SOME)
    return Alike(value, sum(map(len, groups)), tuple(some))


def usable(jobs: Iterable[JobSettings]) -> tuple[JobSettings, ...]:
    """Return of what a heartbeat says what can be so."""
    return tuple(islice((one for one in jobs if _sane(one)), MOST_JOBS))


def _sane(one: JobSettings) -> bool:
    return (
        JOB.fullmatch(one.job) is not None
        and len(one.settings) <= MOST_SETTINGS
        and all(NAME.fullmatch(n) and VALUE.fullmatch(v) for n, v in one.settings.items())
    )
