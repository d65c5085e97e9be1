"""Which rank the others wait for, by NCCL's own service."""

from collections.abc import Iterator, Sequence

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.gpu.health import GpuHealth
from collectors.gpu.pcie import PciTree
from collectors.jobs.places import RankPlaces
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.jobs.ras import Communicator, Count, Member, RasStatus, Report
from collectors.network.ports import Ports
from diagnostics.check import check
from diagnostics.checks.training.of_ranks import (
    Devices,
    clause,
    devices,
    does,
    here,
    numbered,
    subject,
    unknown,
    values,
)
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen, Well, found

# More ranks than this are not named one by one: then it is no rank that is missing.
MOST = 4


@check("training.ras", stage="training", faults=("rank_missing",), proved="documented")
def ras(  # noqa: PLR0917 - the report, and all that is known of the ranks in it
    seen: RasStatus | Missing,
    ranks: LocalRanks | Missing,
    places: RankPlaces | Missing,
    health: GpuHealth | Missing,
    ports: Ports | Missing,
    tree: PciTree | Missing,
) -> Iterator[Statement]:
    """NCCL reaches every rank of a suspected job, and all launched as many operations.

    NCCL's own report lists the smaller part of the ranks, which can be the healthy ones: behind is
    who launched least. The service itself may say that all is well while a job hangs.
    """
    if isinstance(seen, Missing):
        yield unknown(seen)
        return
    known = devices(health, ports, tree)
    for report in seen.reports:
        if report.missing is not None and report.missing.cause is Cause.NO_TOOL:
            # NCCL has the service since 2.24, where it is not switched off.
            yield NotApplicable(why=report.missing.detail)
            continue
        if report.missing is not None:
            yield Unseen(
                missing=report.missing, subject=Subject(kind="job", name=report.job, job=report.job)
            )
            continue
        told = list(_report(report, ranks, places, known))
        yield from told
        if not told:
            yield Well(f"job {report.job}: NCCL reaches all ranks, and none is behind")
    if not seen.reports:
        yield NotApplicable(why="no job whose lowest rank runs here stands still")


def _report(
    report: Report,
    ranks: LocalRanks | Missing,
    places: RankPlaces | Missing,
    known: Devices,
) -> Iterator[Statement]:
    local = numbered(ranks, report.job)
    by_pid = {rank.pid: rank for rank in local.values()}
    world = next((rank.world for rank in local.values()), None)
    named: set[str] = set()
    for communicator in report.communicators:
        for member, did in _late(communicator):
            rank = by_pid.get(member.pid or 0)
            number = _number(member, rank, communicator, world)
            who = subject(number, rank) if number is not None else _other(member, report)
            if who.name in named:
                continue
            named.add(who.name)
            yield found(
                "rank_missing",
                "critical",
                who,
                "NCCL says that {who}{here} {did}{why}",
                Evidence(
                    source=f"NCCL RAS at {report.address}",
                    values={
                        "communicator": communicator.name,
                        "rank": member.rank,
                        "host": member.host,
                        "gpu": member.gpu,
                        **values(rank, known),
                    },
                ),
                variant="ras",
                who=f"rank {number}" if number is not None else _called(member, communicator),
                here=here(rank, known) if rank else _there(member),
                did=did,
                why=clause(does(rank, places)),
                confidence=0.8,
            )


def _late(communicator: Communicator) -> Iterator[tuple[Member, str]]:
    """Yield who is absent, else who launched least of an operation that others launched more of."""
    if 0 < len(communicator.absent) <= MOST:
        for member in communicator.absent:
            yield member, "is dead" if member.dead else "does not answer it"
        return
    for op in dict.fromkeys(count.op for count in communicator.counts):
        counts = [count for count in communicator.counts if count.op == op]
        yield from _least(op, counts)


def _least(op: str, counts: Sequence[Count]) -> Iterator[tuple[Member, str]]:
    least, most = counts[0], counts[-1]
    known = len(least.members) == least.number
    if len(counts) > 1 and known and least.number <= MOST and least.number < most.number:
        did = f"has launched {least.launched} {op} where others have launched {most.launched}"
        yield from ((member, did) for member in least.members)


def _number(
    member: Member, rank: Rank | None, communicator: Communicator, world: int | None
) -> int | None:
    """Return the rank in the job: a communicator counts its own members, but that of all."""
    if rank is not None:
        return rank.rank
    return member.rank if world is not None and communicator.size == world else None


def _other(member: Member, report: Report) -> Subject:
    return Subject(
        kind="process",
        name=str(member.pid or "?"),
        pid=member.pid,
        job=report.job,
        peer=member.host,
    )


def _called(member: Member, communicator: Communicator) -> str:
    return f"rank {member.rank} of communicator {communicator.name}"


def _there(member: Member) -> str:
    return f" (pid {member.pid}, GPU {member.gpu} on {member.host})" if member.host else ""
