"""One look at a job on its own: what its log's time and the kernel say of how long it stands."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.walk.progress import collect
from collectors.facts.answers import Files
from collectors.facts.wanted import Wanted
from collectors.jobs.job_logs import JobLog, JobLogs
from collectors.jobs.ranks import LocalRanks, Rank, job_of
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.curve import Curve
from diagnostics.series.progress import JobProgress
from tests.agent.daemon.virtual import Still

NOW = 1_000.0
STAT = "{pid} (python) S 1 7 7 0 -1 0 0 0 0 0 9 4 0 0 20 0 1 0 813" + " 0" * 17 + "\n"
SCHED = """python ({pid}, #threads: 1)
---
se.exec_start   :   {ran:.6f}
se.avg.last_update_time   :   {updated:.0f}
"""
RANKS = LocalRanks(ranks=(Rank(pid=7, comm="python", state="S", start_s=1.0, rank=0, world=2),))


class Stood(Still):
    """A node whose one rank ran last `still_s` ago, and may have been *moved* as it fell asleep."""

    def __init__(self, still_s: float, *, moved: bool = False) -> None:
        ran = {7: 900_000.0 - 1_000 * still_s, 8: 900_000.0}
        self._texts = {
            f"/proc/{pid}/{name}": form.format(
                pid=pid, ran=0.0 if moved and pid == 7 else ran[pid], updated=ran[pid] * 1e6
            )
            for pid in ran
            for name, form in (("stat", STAT), ("sched", SCHED))
        }

    def now(self) -> float:
        return NOW

    def monotonic(self) -> float:
        return 500.0

    async def files(self, *patterns: str, names: Sequence[str] = (), **_: Any) -> Files:
        del patterns, names
        return Files(texts=self._texts)

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        del kind, deadline_s, args
        return {"7": {"ticks": 9, "bytes": 9}}


def found(**grown_s: float) -> JobLogs:
    """Return logs of the job by their names, each with how long ago it grew."""
    return JobLogs(
        logs=tuple(
            JobLog(
                pid=7,
                stream=1,
                path=name,
                device=1,
                inode=n,
                size=9,
                time=NOW - ago,
                job=job_of(RANKS.ranks[0]),
            )
            for n, (name, ago) in enumerate(grown_s.items())
        )
    )


def seen(**steps: int) -> TrainingLogs:
    """Return what was read in them: so many steps each."""
    return TrainingLogs(
        logs=tuple(LogSeen(name=name, lines=9, curve=Curve(count=n)) for name, n in steps.items())
    )


@pytest.mark.parametrize(
    ("steps", "told"),
    [({"train": 5, "script": 0}, (50.0, True)), ({"train": 5, "script": 4}, (0.0, False))],
)
async def test_a_log_without_steps_is_no_progress_where_another_has_some(
    steps: dict[str, int], told: tuple[float, bool]
) -> None:
    """What runs above the ranks may write on for ever; where it has steps, the job goes on."""
    logs = found(train=50.0, script=1.0)
    progress = await collect(Stood(60.0), Wanted(), RANKS, logs, seen(**steps))

    assert isinstance(progress, JobProgress)
    assert [told] == [(job.stopped_s, job.suspected) for job in progress.jobs]


@pytest.mark.parametrize("moved", [False, True])
async def test_who_was_moved_as_it_fell_asleep_stands_still_all_the_same(*, moved: bool) -> None:
    """Its last run is told as 0 from Linux 6.12 on; no longer than its log has it stood."""
    node = Stood(600.0, moved=moved)
    progress = await collect(node, Wanted(), RANKS, found(train=50.0), seen(train=5))

    assert isinstance(progress, JobProgress)
    assert [(50.0, True)] == [(job.stopped_s, job.suspected) for job in progress.jobs]


async def test_a_rank_that_ran_lately_acquits_its_job() -> None:
    """Its log grew 50 s ago, and it ran 2 s ago: it works at something."""
    progress = await collect(Stood(2.0), Wanted(), RANKS, found(train=50.0), seen(train=5))

    assert isinstance(progress, JobProgress)
    assert [(2.0, False)] == [(job.stopped_s, job.suspected) for job in progress.jobs]
