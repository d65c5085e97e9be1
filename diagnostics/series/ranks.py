"""Which rank works longer than its siblings, from the times that ranks print themselves."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from diagnostics.series.by_rank import RankTimes
from diagnostics.series.drawn import Laggard
from diagnostics.series.middle import deviation, median

DEVIATIONS = 6.0


class Straggler(msgspec.Struct, frozen=True, kw_only=True):
    """A rank, the median of its times and that of its siblings in ms, and where it was read."""

    rank: int
    own_ms: float
    others_ms: float
    steps: int
    siblings: int | None
    line: int
    text: str


def slowest(ranks: Sequence[RankTimes], *, ratio: float, steps: int) -> list[Straggler]:
    """Return the ranks whose own work takes *ratio* times the middle of all, the slowest first.

    Work is a step without its synchronisation: of that, the slow rank waits least.
    """
    timed = [rank for rank in ranks if len(rank.work_ms) >= steps]
    middles = [median(rank.work_ms) for rank in timed]
    if len(timed) < 2:  # noqa: PLR2004 - one alone has none to be compared with
        return []
    usual = median(middles)
    limit = max(ratio * usual, usual + DEVIATIONS * deviation(middles, usual))
    found = [
        Straggler(
            rank=rank.rank,
            own_ms=own,
            others_ms=usual,
            steps=len(rank.work_ms),
            siblings=len(timed) - 1,
            line=rank.line,
            text=rank.text,
        )
        for rank, own in zip(timed, middles, strict=True)
        if own >= limit
    ]
    return sorted(found, key=lambda one: -one.own_ms)


def named(reports: Sequence[Laggard], *, ratio: float, steps: int) -> Straggler | None:
    """Return the rank that a framework's own report names as the slowest again and again."""
    last = reports[-2 * steps :]
    if len(last) < steps:
        return None
    rank, times = Counter(report.rank for report in last).most_common(1)[0]
    own = [report for report in last if report.rank == rank]
    slow, fast = median([r.slow_ms for r in own]), median([r.fast_ms for r in own])
    if times < 0.8 * len(last) or slow < ratio * fast:
        return None
    return Straggler(
        rank=rank,
        own_ms=slow,
        others_ms=fast,
        steps=times,
        siblings=None,
        line=own[-1].line,
        text=own[-1].text,
    )
