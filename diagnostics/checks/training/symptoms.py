"""Whether a log holds a line that means a fault."""

from collections.abc import Iterator, Sequence

from collectors.facts.subject import Subject
from diagnostics.check import check
from diagnostics.checks.training.given import QUOTED, evidence, subject, unread
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import LogSeen, TrainingLogs

# The checks of the run's numbers join these lines with the numbers.
JUDGED_WITH_NUMBERS = frozenset(
    {"nan_loss", "nonfinite_grad_norm", "loss_scale_collapse", "loss_scale_floor"}
)


@check(
    "training.symptoms",
    stage="training",
    faults=(
        "nccl_collective_timeout",
        "nccl_heartbeat_timeout",
        "nccl_collective_desync",
        "cuda_oom",
        "cuda_device_assert",
        "cuda_illegal_memory_access",
        "ecc_uncorrectable",
    ),
    proved="documented",
)
def symptoms(seen: TrainingLogs) -> Iterator[Statement]:
    """No line of the given logs means a fault.

    A job that ends says why in its own log, often in one line among a thousand that follow from
    it. Each fault of a log is one finding with its first line, its ranks and its count.
    """
    yield from unread(seen)
    told = False
    for log in seen.logs:
        hits = [hit for hit in log.hits if hit.source != "tool"]
        hits = [hit for hit in hits if hit.fault not in JUDGED_WITH_NUMBERS]
        for fault in dict.fromkeys(hit.fault for hit in hits):
            yield _finding(log, [hit for hit in hits if hit.fault == fault])
            told = True
    lines = sum(log.lines for log in seen.logs)
    if lines and not told:
        yield Well(f"none of {lines:,} lines means a fault")
    elif seen.logs and not lines:
        yield NotApplicable(why="the log is empty")


def _finding(log: LogSeen, hits: Sequence[Hit]) -> Finding:
    """Return one finding for all lines of one fault; the first of them is its sentence."""
    first = hits[0]
    name = first.rule.partition(".")[2]
    about = subject(log, hits)
    return found(
        first.fault,
        first.severity,
        about,
        f"{{who}}: {first.template}",
        *evidence(log, hits),
        kind=first.kind,
        variant=name if name != first.fault else "",
        rule=first.rule,
        count=sum(hit.count for hit in hits),
        **{"who": _who(about), **first.values},
    )


def _who(about: Subject) -> str:
    """Return the ranks that wrote the lines, the log's name where they do not say it."""
    ranks = (about.rank,) if about.rank is not None else about.ranks or ()
    if not ranks:
        return about.name
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    runs = _runs(ranks)
    shown = ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in runs[:QUOTED])
    more = ", ..." if len(runs) > QUOTED else ""
    return f"{len(ranks)} ranks ({shown}{more})"


def _runs(ranks: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranks as first and last of each unbroken run."""
    runs: list[tuple[int, int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], rank)
        else:
            runs.append((rank, rank))
    return runs
