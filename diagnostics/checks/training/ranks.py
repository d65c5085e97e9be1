"""Which rank does something else than the others, by what its process does on this node."""

from collections.abc import Iterator

from collectors.facts.observation import Missing
from collectors.gpu.health import GpuHealth
from collectors.gpu.pcie import PciTree
from collectors.jobs.flight_recorder import FlightDumps
from collectors.jobs.places import RankPlaces
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.jobs.ras import RasStatus
from collectors.network.ports import Ports
from diagnostics.check import check
from diagnostics.checks.training.of_ranks import (
    NONE_HERE,
    Devices,
    by_minor,
    devices,
    here,
    numbered,
    subject,
    unknown,
    values,
)
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen, Well, found
from diagnostics.series.behind import behind
from diagnostics.series.progress import JobProgress, JobStand
from diagnostics.series.waits import Why, odd


@check("training.ranks", stage="training", faults=("rank_missing",), proved="real-tool")
def ranks(  # noqa: PLR0917 - who stands still, and everything that may say why
    progress: JobProgress | Missing,
    local: LocalRanks | Missing,
    places: RankPlaces | Missing,
    dumps: FlightDumps | Missing,
    status: RasStatus | Missing,
    health: GpuHealth | Missing,
    ports: Ports | Missing,
    tree: PciTree | Missing,
) -> Iterator[Statement]:
    """No rank of a job that stands still does something else than the others.

    A rank that has gone, is stopped, hangs in the driver or storage, or waits for its data does
    not come to the collective that all others wait in. NCCL's count and the flight recorder, where
    there are any, are believed first.
    """
    if isinstance(progress, Missing):
        yield unknown(progress)
        return
    if isinstance(local, Missing):
        yield unknown(local)
        return
    known, named = devices(health, ports, tree), _named_by_others(dumps, status)
    suspects = [job for job in progress.jobs if job.settled]
    if suspects and isinstance(places, Missing):
        yield Unseen(missing=places)
    for job in suspects:
        for number, what in sorted(_named(job, local, places, health).items()):
            if job.job in named and what.kind not in ("dead", "stopped"):
                continue
            rank = numbered(local, job.job).get(number)
            yield _finding(job, number, what, rank, known)
    if not progress.jobs:
        yield NotApplicable(why=NONE_HERE)
    elif all(job.stopped_s is None for job in progress.jobs):
        yield NotApplicable(why="no job here writes a log that can be read")
    elif not suspects:
        yield Well(f"none of {len(local.ranks)} ranks is waited for")


def _named_by_others(dumps: FlightDumps | Missing, status: RasStatus | Missing) -> set[str | None]:
    """Return the jobs of which NCCL or the flight recorder has told."""
    named: set[str | None] = set()
    if not isinstance(dumps, Missing):
        named |= {one.job for one in behind(dumps.dumps)}
    if not isinstance(status, Missing):
        named |= {report.job for report in status.reports if report.communicators}
    return named


def _named(
    job: JobStand,
    local: LocalRanks,
    places: RankPlaces | Missing,
    health: GpuHealth | Missing,
) -> dict[int, Why]:
    gone = {
        number: Why(kind="dead", words="its process has gone while the others are still there")
        for number in job.gone
    }
    known = RankPlaces() if isinstance(places, Missing) else places
    return gone or odd(numbered(local, job.job), known, by_minor(health))


def _finding(job: JobStand, number: int, what: Why, rank: Rank | None, known: Devices) -> Statement:
    return found(
        "rank_missing",
        "critical" if what.kind in ("dead", "stopped", "driver") else "warning",
        subject(number, rank),
        "job {job} waits for rank {rank}{here}: {why}",
        Evidence(source="/proc", values={"class": what.kind, **values(rank, known)}),
        variant="process",
        job=job.job,
        rank=number,
        here=here(rank, known),
        why=what.words,
        confidence=0.7,
    )
