"""Which rank the others wait for, by the dumps of PyTorch's flight recorder."""

from collections.abc import Iterator, Sequence

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.gpu.health import GpuHealth
from collectors.gpu.pcie import PciTree
from collectors.jobs.flight_recorder import Dump, FlightDumps
from collectors.jobs.places import RankPlaces
from collectors.jobs.ranks import LocalRanks, Rank
from collectors.network.ports import Ports
from diagnostics.check import check
from diagnostics.checks.training.of_ranks import (
    Devices,
    clause,
    devices,
    does,
    here,
    listed,
    subject,
    unknown,
    values,
)
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen, Well, found
from diagnostics.series.behind import Behind, Differs, behind, differing

FAULTS = ("rank_missing", "nccl_collective_desync")


@check("training.flight_recorder", stage="training", faults=FAULTS, proved="recorded")
def flight_recorder(  # noqa: PLR0917 - the dumps, and all that is known of the ranks in them
    seen: FlightDumps | Missing,
    ranks: LocalRanks | Missing,
    places: RankPlaces | Missing,
    health: GpuHealth | Missing,
    ports: Ports | Missing,
    tree: PciTree | Missing,
) -> Iterator[Statement]:
    """No rank is behind the others in a process group, and all called the same operations.

    The ranks that report a timeout are those that wait. Each dump says how far its rank came in
    each of its groups: the one that waits for nobody else is where to look. Numbers of two groups
    are never compared.
    """
    if isinstance(seen, Missing):
        yield unknown(seen)
        return
    for missing in seen.unseen:
        yield Unseen(missing=missing, subject=Subject(kind="log", name=missing.what))
    local = {} if isinstance(ranks, Missing) else {r.pid: r for r in ranks.ranks}
    known = devices(health, ports, tree)
    late, other = behind(seen.dumps), differing(seen.dumps)
    for one in late:
        dump = next((d for d in seen.dumps if (d.job, d.rank) == (one.job, one.rank)), None)
        rank = local.get(dump.pid or 0) if dump else None
        yield _missing(one, dump, rank, seen, places, known)
    for differs in other:
        yield _desync(differs, seen)
    if not seen.dumps:
        yield NotApplicable(why="no dump of the flight recorder is at hand")
    elif not (late or other):
        yield Well(f"{len(seen.dumps)} dumps: nobody is behind the others")


def _missing(  # noqa: PLR0917 - who, by which dump, and all that is known of its process
    one: Behind,
    dump: Dump | None,
    rank: Rank | None,
    seen: FlightDumps,
    places: RankPlaces | Missing,
    known: Devices,
) -> Statement:
    others = _source(seen, one.job, one.waiting)
    return found(
        "rank_missing",
        "warning" if one.silent else "critical",
        subject(one.rank, rank),
        "rank {rank}{here} {did} in process group {group}, where {others} wait{why}",
        Evidence(
            source=dump.source if dump else others,
            time=one.since_ns / 1e9 if one.since_ns else None,
            values={
                "group": one.group,
                "operation": one.at,
                "others_at": one.others_at,
                "waiting": list(one.waiting)[:64],
                **values(rank, known),
            },
        ),
        variant=_variant(one),
        rank=one.rank,
        here=here(rank, known),
        did=_did(one),
        group=f"{one.group} {one.desc}".strip(),
        others=listed(one.waiting),
        why=clause(does(rank, places)),
        confidence=0.6 if one.silent else 0.9,
    )


def _source(seen: FlightDumps, job: str | None, ranks: Sequence[int]) -> str:
    return next((d.source for d in seen.dumps if d.job == job and d.rank in ranks), "")


def _variant(one: Behind) -> str:
    return "silent" if one.silent else "unended" if one.entered else ""


def _did(one: Behind) -> str:
    what = f"operation {one.at}" + (f" ({one.op})" if one.op else "")
    if one.silent:
        return f"wrote no dump; others have called {what}"
    if one.entered:
        return f"has not ended {what}, which others are past,"
    return f"did not call {what}"


def _desync(differs: Differs, seen: FlightDumps) -> Statement:
    told = ", ".join(f"{listed(ranks)} {name}" for name, ranks in sorted(differs.calls.items()))
    few = min(differs.calls.values(), key=len)
    source = _source(seen, differs.job, few)
    return found(
        "nccl_collective_desync",
        "critical",
        Subject(kind="rank", name=str(few[0]), rank=few[0], job=differs.job)
        if len(few) == 1
        else Subject(kind="job", name=differs.job or "job", ranks=few, job=differs.job),
        "as operation {sequence} of process group {group} ranks called different things: {told}",
        Evidence(source=source, values={"group": differs.group, "operation": differs.sequence}),
        sequence=differs.sequence,
        group=f"{differs.group} {differs.desc}".strip(),
        told=told,
    )
