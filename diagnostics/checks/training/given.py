"""What all training checks share: which logs were given, and whom a finding in a log is about."""

from collections.abc import Iterable, Iterator, Sequence

from collectors.facts.subject import Subject
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen
from diagnostics.rules import prefix
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.curve import Quote

# A finding quotes this many ranks' first lines.
QUOTED = 8


def unread(seen: TrainingLogs) -> Iterator[Statement]:
    """Yield why nothing, or not everything, can be judged."""
    if not seen.logs and not seen.unseen:
        yield NotApplicable(why="no log was given: --log FILE")
    for missing in (*seen.unseen, *(log.cut for log in seen.logs if log.cut)):
        yield Unseen(missing=missing, subject=Subject(kind="log", name=missing.what))


def subject(log: LogSeen, hits: Sequence[Hit] = ()) -> Subject:
    """Return the rank that wrote *hits* where the rule is about it and it is one, else the log."""
    ranks = sorted({rank for hit in hits if (rank := rank_of(log, hit)) is not None})
    if len(ranks) == 1 and all(hit.about == "rank" for hit in hits):
        return Subject(kind="rank", name=str(ranks[0]), rank=ranks[0], job=log.job)
    if len(ranks) == 1:
        return Subject(kind="log", name=log.name, rank=ranks[0], job=log.job)
    return Subject(kind="log", name=log.name, ranks=tuple(ranks) or None, job=log.job)


def rank_of(log: LogSeen, hit: Hit) -> int | None:
    """Return the rank that wrote a line, by the line or by the name of its file."""
    return prefix.file_rank(log.name) if hit.rank is None else hit.rank


def heard(log: LogSeen) -> frozenset[int]:
    """Return the ranks that wrote something in a log, as far as its lines were looked at."""
    told = {rank for hit in log.hits if (rank := rank_of(log, hit)) is not None}
    file = prefix.file_rank(log.name)
    own = () if file is None else (file,)
    return frozenset({*told, *log.curve.settings.heard, *(r.rank for r in log.curve.ranks), *own})


def named_ranks(about: Subject) -> str:
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


def evidence(log: LogSeen, hits: Iterable[Hit]) -> tuple[Evidence, ...]:
    """Return the first line of each rank's hits as it stands in the log, with its time."""
    return tuple(
        Evidence(
            source=log.name,
            line=hit.line,
            text=hit.text,
            time=hit.first_seen,
            time_error_s=hit.time_error_s,
            values=hit.values,
        )
        for hit in list(hits)[:QUOTED]
    )


def quoted(log: LogSeen, quote: Quote | None) -> Evidence:
    """Return a number line as evidence."""
    if quote is None:
        return Evidence(source=log.name)
    return Evidence(source=log.name, line=quote.line, text=quote.text)
