"""Whether the jobs of this node go on: what their logs and their ranks say together."""

from collections.abc import Iterable
from itertools import pairwise

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host.blocked import stood_still_s
from collectors.jobs.activity import Activity, ask
from collectors.jobs.job_logs import JobLog, JobLogs
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.node.protocol import Node
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.curve import Curve
from diagnostics.series.progress import (
    LEAST_S,
    Followed,
    JobProgress,
    JobStand,
    Sample,
    advance,
    percentile,
    stand,
)

# Steps that the pace is read from, where a log prints how long each took.
PACE = 500


class Watching:
    """Remembers when each job moved last; for one look alone, what the kernel keeps has to do."""

    def __init__(self) -> None:
        self._jobs: dict[str, Followed] = {}
        self._ranks: dict[str, frozenset[int]] = {}

    async def collect(
        self,
        node: Node,
        wanted: Wanted,
        ranks: LocalRanks | Missing,
        found: JobLogs | Missing,
        logs: TrainingLogs | Missing,
    ) -> JobProgress | Missing:
        """Look at each job once more."""
        del wanted
        if isinstance(ranks, Missing):
            return ranks
        activity = await ask(node, ranks)
        seen = [] if isinstance(logs, Missing) else list(logs.logs)
        files = () if isinstance(found, Missing) else found.logs
        stands: list[JobStand] = []
        followed: dict[str, Followed] = {}
        for name, members in ranks.jobs().items():
            mine = [(file, log) for file in files if file.job == name for log in _of(file, seen)]
            sample = await self._sample(node, name, members, activity, mine)
            followed[name] = advance(self._jobs.get(name), sample)
            log = max(mine, key=lambda one: one[1].curve.count)[1] if mine else None
            stands.append(_stand(name, followed[name], log, self._gone(name, members)))
        self._jobs = followed
        self._ranks = {name: self._ranks[name] for name in followed}
        asked = (activity, found) if ranks.ranks else ()
        unseen = tuple(one for one in asked if isinstance(one, Missing))
        return JobProgress(jobs=tuple(stands), unseen=unseen)

    def _gone(self, name: str, ranks: Iterable[Rank]) -> tuple[int, ...]:
        """Return the ranks of a job that were here and are no more."""
        now = frozenset(rank.rank for rank in ranks if rank.rank is not None)
        self._ranks[name] = self._ranks.get(name, frozenset()) | now
        return tuple(sorted(self._ranks[name] - now))

    async def _sample(
        self,
        node: Node,
        name: str,
        ranks: Iterable[Rank],
        activity: Activity | Missing,
        logs: list[tuple[JobLog, LogSeen]],
    ) -> Sample:
        known = {} if isinstance(activity, Missing) else activity.work
        pids = [rank.pid for rank in ranks]
        work = {pid: known[pid] for pid in pids if pid in known}
        # Of what a job writes, the logs that have steps tell of progress once there are any: what
        # runs above the ranks may write into another for ever.
        stepping = [one for one in logs if one[1].curve.count] or logs
        log_s = min((max(node.now() - file.time, 0.0) for file, _ in stepping), default=None)
        still_s = None
        if name not in self._jobs and work and log_s is not None and log_s >= LEAST_S:
            still_s = await _still_s(node, list(work))
        return Sample(
            at=node.monotonic() if isinstance(activity, Missing) else activity.at,
            steps=max((log.curve.count for _, log in logs), default=None),
            log_s=log_s,
            work=work,
            still_s=still_s,
            devices=frozenset(rank.pid for rank in ranks if rank.gpus),
            usual_s=max((s for _, log in logs if (s := usual_s(log.curve))), default=None),
        )


async def _still_s(node: Node, pids: list[int]) -> float | None:
    """Return for how long none of these processes has run, by the kernel's scheduler."""
    seen = await node.files("/proc/[0-9]*/stat", "/proc/[0-9]*/sched", cap=4096)
    if isinstance(seen, Missing):
        return None
    # The log is the other source: what stood still is no longer than either says.
    return min((stood_still_s(pid, seen, by_load=True) for pid in pids), default=None)


def _of(file: JobLog, seen: Iterable[LogSeen]) -> list[LogSeen]:
    return [log for log in seen if log.name.partition(" from byte ")[0] == file.path]


def _stand(name: str, followed: Followed, log: LogSeen | None, gone: tuple[int, ...]) -> JobStand:
    steps = [p.step for p in log.curve.points if p.step is not None] if log else []
    return stand(
        name,
        followed,
        log=log.name if log else None,
        last_step=steps[-1] if steps else None,
        gone=gone,
    )


def usual_s(curve: Curve) -> float | None:
    """Return the 99th percentile of the seconds between two of a log's step lines."""
    points = [p for p in curve.points[-PACE:] if p.step_ms is not None]
    apart = {id(b): (b.step or 0) - (a.step or 0) for a, b in pairwise(points)}
    each = [(p.step_ms or 0.0) / 1000.0 * max(apart.get(id(p), 1), 1) for p in points]
    return percentile(each, 0.99) if each else None


async def collect(
    node: Node,
    wanted: Wanted,
    ranks: LocalRanks | Missing,
    found: JobLogs | Missing,
    logs: TrainingLogs | Missing,
) -> JobProgress | Missing:
    """Look once, as a walk on its own does."""
    return await Watching().collect(node, wanted, ranks, found, logs)
