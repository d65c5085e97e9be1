"""Whether a job of this node stands still."""

from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.jobs.ranks import LocalRanks, Rank
from diagnostics.check import Limits, check
from diagnostics.checks.training.of_ranks import NONE_HERE, by_minor, numbered, unseen
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found
from diagnostics.series.progress import JobProgress, JobStand


class HangLimits(Limits, frozen=True, kw_only=True):
    """What a GPU that only waits in NCCL draws at most."""

    power_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="draw over limit; more is work")
    ] = 40.0
    busy_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="of a processor, beside an idle GPU")
    ] = 50.0


@check("training.hang", stage="training", faults=("training_hang",), proved="real-tool")
def hang(
    progress: JobProgress | Missing,
    ranks: LocalRanks | Missing,
    health: GpuHealth | Missing,
    limits: HangLimits,
) -> Iterator[Statement]:
    """Every job whose ranks run here makes progress.

    A job that hangs holds its GPUs and says nothing. Its log and its ranks must both have stood
    still for three times its own slow step, 30 s at least, and 10 min before the first step;
    evaluation, checkpoints and compilation move one of them.
    """
    if isinstance(progress, Missing):
        yield unseen(progress)
        return
    for missing in progress.unseen:
        yield Unseen(missing=missing)
    gpus = by_minor(health)
    for job in progress.jobs:
        if job.stopped_s is None:
            yield NotApplicable(why=f"job {job.job} writes no log that can be read here")
        elif job.suspected and not _works(job, numbered(ranks, job.job), gpus, limits):
            yield _finding(job, numbered(ranks, job.job), gpus)
        else:
            yield Well(f"job {job.job} goes on")
    if not progress.jobs:
        yield NotApplicable(why=NONE_HERE)


def _works(
    job: JobStand, ranks: Mapping[int, Rank], gpus: Mapping[int, GpuReading], limits: HangLimits
) -> bool:
    """Return whether a GPU works, or a rank computes beside an idle one: it compiles, then."""
    for rank in ranks.values():
        for gpu in (gpus[minor] for minor in rank.gpus if minor in gpus):
            draw, most = gpu.power.draw_mw, gpu.power.limit_mw
            if draw is not None and most and 100 * draw / most > limits.power_percent:
                return True
            computes = 100 * job.busy.get(str(rank.pid), 0.0) > limits.busy_percent
            if computes and gpu.utilisation_percent == 0:
                return True
    return False


def _finding(job: JobStand, ranks: Mapping[int, Rank], gpus: Mapping[int, GpuReading]) -> Finding:
    used = sorted({minor for rank in ranks.values() for minor in rank.gpus if minor in gpus})
    use = {f"gpu {minor}": gpus[minor].utilisation_percent for minor in used}
    return found(
        "training_hang",
        "critical" if job.settled else "warning",
        Subject(kind="job", name=job.job, job=job.job),
        "job {job} stands still: {after} for {stopped} s, and its {ranks} ranks here did nothing "
        "meanwhile; {wait} s would be long for it",
        Evidence(
            source=job.log or "log",
            values={"steps": job.steps, "last_step": job.last_step, "stopped_s": job.stopped_s},
        ),
        Evidence(source="/proc", values={"pids": list(job.pids), "busy": dict(job.busy), **use}),
        job=job.job,
        after=_after(job),
        stopped=round(job.stopped_s or 0.0),
        ranks=len(job.pids),
        wait=round(job.wait_s),
        confidence=0.9 if job.settled else 0.7,
    )


def _after(job: JobStand) -> str:
    if not job.steps:
        return "no first step"
    return f"no step after {job.last_step}" if job.last_step is not None else "no further step"
