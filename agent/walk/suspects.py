"""What is asked about a job only once it is suspected: NCCL's own service, and dumps."""

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.jobs import flight_recorder, places, ras
from collectors.jobs.flight_recorder import FlightDumps
from collectors.jobs.places import RankPlaces
from collectors.jobs.ranks import LocalRanks
from collectors.jobs.ras import RasStatus, Report
from collectors.node.protocol import Node
from diagnostics.series.progress import JobProgress

# NCCL asks every process of a job for its answer.
EACH_S = 60.0


class Asking:
    """Asks the service of a suspected job, and no job more often than once a minute."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[float, Report]] = {}

    async def collect(
        self,
        node: Node,
        wanted: Wanted,
        ranks: LocalRanks | Missing,
        progress: JobProgress | Missing,
    ) -> RasStatus | Missing:
        """Ask for each suspected job whose lowest rank is here."""
        del wanted
        if isinstance(ranks, Missing):
            return ranks
        if isinstance(progress, Missing):
            return progress
        jobs = ranks.jobs()
        told: dict[str, tuple[float, Report]] = {}
        for suspect in progress.suspects():
            now = node.monotonic()
            known = self._asked.get(suspect.job)
            if known is None or now - known[0] >= EACH_S:
                report = await ras.ask(node, suspect.job, jobs.get(suspect.job, ()))
                known = None if report is None else (now, report)
            if known is not None:
                told[suspect.job] = known
        self._asked = told
        return RasStatus(reports=tuple(report for _, report in told.values()))


async def status(
    node: Node, wanted: Wanted, ranks: LocalRanks | Missing, progress: JobProgress | Missing
) -> RasStatus | Missing:
    """Ask once, as a walk on its own does."""
    return await Asking().collect(node, wanted, ranks, progress)


async def dumps(
    node: Node, wanted: Wanted, ranks: LocalRanks | Missing, progress: JobProgress | Missing
) -> FlightDumps | Missing:
    """Look for the dumps of suspected jobs."""
    suspects = _suspects(ranks, progress)
    if isinstance(suspects, Missing):
        return suspects
    return await flight_recorder.collect(node, wanted, suspects)


async def stood(
    node: Node, wanted: Wanted, ranks: LocalRanks | Missing, progress: JobProgress | Missing
) -> RankPlaces | Missing:
    """Look where the ranks of suspected jobs are in the kernel."""
    del wanted
    suspects = _suspects(ranks, progress)
    return suspects if isinstance(suspects, Missing) else await places.ask(node, suspects.ranks)


def _suspects(ranks: LocalRanks | Missing, progress: JobProgress | Missing) -> LocalRanks | Missing:
    if isinstance(ranks, Missing):
        return ranks
    if isinstance(progress, Missing):
        return progress
    names = {suspect.job for suspect in progress.suspects()}
    members = [rank for name, some in ranks.jobs().items() if name in names for rank in some]
    return LocalRanks(ranks=tuple(members))
