"""Whether one rank works longer than its siblings, by the times in one log."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.subject import Subject
from diagnostics.check import Limits, check
from diagnostics.checks.training.given import unread
from diagnostics.checks.training.steps import alike as comparable
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found
from diagnostics.rules import prefix
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.by_rank import LAST_STEPS, RankTimes
from diagnostics.series.ranks import Straggler, named, slowest


class StragglerLimits(Limits, frozen=True, kw_only=True):
    """When a rank counts as slow, against the median of all."""

    ratio: Annotated[float, msgspec.Meta(gt=1, description="own work over the others'")] = 1.1
    steps: Annotated[int, msgspec.Meta(ge=3, description="steps of each rank that are needed")] = 10


@check("training.stragglers", stage="training", faults=("straggler_rank",), proved="documented")
def stragglers(seen: TrainingLogs, limits: StragglerLimits) -> Iterator[Statement]:
    """No rank works longer than the others of its job.

    All ranks wait for the last one, so that one slow GPU costs as much as if all were slow. Whole
    steps are equally long on all ranks; only a rank's own work, without the wait in the
    synchronisation, tells them apart: the slow one waits least. Stages of a pipeline have unlike
    work by right: where there are several, or it is not known, a slow rank is a note.
    """
    yield from unread(seen)
    told = 0
    for log in seen.logs:
        slow = slowest(log.curve.ranks, ratio=limits.ratio, steps=limits.steps)
        reported = named(log.curve.laggards, ratio=limits.ratio, steps=limits.steps)
        stages = log.curve.settings.pipeline
        if slow:
            alike = stages in (None, 1)
            yield from (_finding(log, one, alike=alike) for one in slow)
        elif reported is not None:
            # A report of Megatron's does not tell stages apart, and seldom stands in another log.
            yield _finding(log, reported, alike=stages == 1)
        told += len(log.curve.ranks) + bool(log.curve.laggards)
    files = _files(seen)
    slow = slowest([times for _, times in files], ratio=limits.ratio, steps=limits.steps)
    told += len(files)
    for one in slow:
        log = next(log for log, times in files if times.rank == one.rank)
        yield _finding(log, one, alike=log.curve.settings.pipeline in (None, 1))
    if told:
        yield Well("no rank works longer than the others")
    elif seen.logs:
        yield NotApplicable(why="no times of single ranks are printed")


def _files(seen: TrainingLogs) -> list[tuple[LogSeen, RankTimes]]:
    """Return the last times of each rank that has a log of its own, by the names of these."""
    found: list[tuple[LogSeen, RankTimes]] = []
    for log in seen.logs:
        rank, quote = prefix.file_rank(log.name), log.curve.timed
        if rank is None or quote is None or log.curve.ranks:
            continue
        last = [p for p in comparable(log) if p.step_ms is not None][-LAST_STEPS:]
        work = tuple((p.step_ms or 0.0) - (p.sync_ms or 0.0) for p in last)
        times = RankTimes(rank=rank, work_ms=work, line=quote.line, text=quote.text)
        found.append((log, times))
    return found


def _finding(log: LogSeen, slow: Straggler, *, alike: bool) -> Finding:
    than = "the fastest" if slow.siblings is None else f"the median of {slow.siblings} others"
    return found(
        "straggler_rank",
        "warning" if alike else "info",
        Subject(kind="rank", name=str(slow.rank), rank=slow.rank),
        "{log}: rank {rank} works {own} ms a step, {percent} % longer than {than} ({others} ms), "
        "in {steps} steps{stages}",
        Evidence(source=log.name, line=slow.line, text=slow.text, values={"rank": slow.rank}),
        log=log.name,
        rank=slow.rank,
        own=f"{slow.own_ms:,.1f}",
        percent=round(100 * (slow.own_ms / slow.others_ms - 1)) if slow.others_ms else 0,
        than=than,
        others=f"{slow.others_ms:,.1f}",
        steps=slow.steps,
        stages="" if alike else "; stages of a pipeline may differ",
    )
