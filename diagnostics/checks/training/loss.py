"""Whether the loss is a number, and not a zero that stands for none."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from collectors.facts.subject import Subject
from diagnostics.check import check
from diagnostics.checks.training.given import evidence, quoted, subject, unread
from diagnostics.checks.training.steps import at, bad, finite, named, quote, run, trailing
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found
from diagnostics.rules import prefix
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.rules.when import when
from diagnostics.series.by_rank import Elsewhere
from diagnostics.series.middle import median
from diagnostics.series.point import Point
from diagnostics.series.triage import Lead, triage

# Faults of a GPU that make its arithmetic doubtful, when they stand in the same log.
BROKEN = frozenset({"ecc_uncorrectable", "gpu_fell_off_bus", "nvlink_error", "cuda_unknown_error"})
# From a loss above this to 0 in one step is no learning; so many zeros from the start are none.
FALLEN, MANY = 0.5, 3


@check("training.loss", stage="training", faults=("nan_loss", "loss_zero"), proved="real-tool")
def loss(seen: TrainingLogs) -> Iterator[Statement]:
    """Each step has a finite loss that is not 0.

    Once NaN or infinity is in the weights, every later step is wasted: the job holds its GPUs and
    trains nothing. Frameworks hide it: Megatron leaves the loss out of the line, HF Trainer prints
    0.0. A loss that was finite again later is a warning: steps were skipped or lost.
    """
    yield from unread(seen)
    judged = 0
    for log in seen.logs:
        hits = [hit for hit in log.hits if hit.fault == "nan_loss"]
        points = [p for p in run(log) if p.loss is not None or p.lost]
        missing = trailing(points, [p.lost and not bad(p.grad_norm) for p in points])
        if hits or log.curve.bad:
            yield _not_finite(log, hits, elsewhere(seen, log))
        elif missing:
            yield _left_out(log, points, missing)
        elif zeros := _zeros(points):
            yield _zero(log, zeros)
        judged += log.curve.finite is not None
    if judged:
        yield Well("; ".join(_well(log) for log in seen.logs if log.curve.finite))
    elif seen.logs:
        yield NotApplicable(why="no loss is printed in a form that is known")


def _well(log: LogSeen) -> str:
    last = next((p for p in reversed(log.curve.points) if p.loss is not None), None)
    value = "" if last is None else f", {last.loss:.6g} in the last"
    return f"the loss is finite in {log.curve.count - log.curve.bad:,} steps{value}"


def _not_finite(log: LogSeen, hits: list[Hit], others: Elsewhere | None) -> Finding:
    """Return what is said of a loss that is printed as NaN or infinity."""
    curve = log.curve
    times = max(curve.bad, sum(hit.count for hit in hits))
    last = max([curve.last_bad.line if curve.last_bad else 0, *(hit.last_line for hit in hits)])
    proof = tuple(_timed(one) for one in evidence(log, hits) or (quoted(log, curve.first_bad),))
    rule = hits[0].rule if hits else None
    # A finite loss of one rank says nothing of another.
    if curve.finite is not None and curve.finite.line > last and not curve.still:
        return found(
            "nan_loss",
            "warning",
            subject(log, hits),
            "{log}: the loss was not finite in {lines} and is finite again in line {line}",
            *proof,
            quoted(log, curve.finite),
            variant="recovered",
            rule=rule,
            count=times,
            log=log.name,
            lines=_lines(times),
            line=curve.finite.line,
        )
    first = min(one.line or 0 for one in proof)
    step = curve.first_bad.step if curve.first_bad else None
    lead = _lead(log, [p for p in run(log) if (p.line or 0) < first], hits, others)
    return found(
        "nan_loss",
        "critical",
        _about(log, hits, others),
        "{log}: the loss is not finite from {since} on, in {lines}{suspected}",
        *proof,
        _apart(lead),
        rule=rule,
        count=times,
        confidence=0.95,
        log=log.name,
        since=f"step {step}" if step is not None else f"line {first}",
        lines=_lines(times),
        suspected=_suspected(lead),
    )


def _timed(quote: Evidence) -> Evidence:
    """Return a quoted line with its time: what a GPU tells of itself then may be why."""
    told = when((quote.text or "").encode("utf-8", "replace"))
    return msgspec.structs.replace(quote, time=told.time, time_error_s=told.error_s)


def _about(log: LogSeen, hits: Sequence[Hit], others: Elsewhere | None) -> Subject:
    """Return the one rank whose loss went first, where there is one; else who wrote the lines."""
    if others is not None and len(others.bad) == 1 and others.clean:
        return Subject(kind="rank", name=str(others.bad[0]), rank=others.bad[0])
    return subject(log, hits)


def _left_out(log: LogSeen, points: Sequence[Point], missing: Sequence[Point]) -> Finding:
    """Return what is said of iteration lines without a loss, of which no step was skipped.

    The mean of a window is printed: the bad step lies after the last line that has a loss.
    """
    before = list(points[: len(points) - len(missing)])
    lead = _lead(log, before, (), None)
    return found(
        "nan_loss",
        "critical",
        named(log),
        "{log}: the loss is left out from {since} on, in {lines}, though no step is counted as "
        "skipped: it is not finite{suspected}",
        *(quote(log, point) for point in (missing[0], *before[-1:])),
        _apart(lead),
        variant="left_out",
        count=len(missing),
        log=log.name,
        since=at(missing[0]),
        lines=_lines(len(missing)),
        suspected=_suspected(lead),
    )


def elsewhere(seen: TrainingLogs, log: LogSeen) -> Elsewhere | None:
    """Return who printed the first bad step of a log, in it or in the logs of other ranks."""
    own, bad = prefix.file_rank(log.name), log.curve.first_bad
    if log.curve.elsewhere is not None or own is None or bad is None or bad.step is None:
        return log.curve.elsewhere
    losses = {
        rank: [p.loss for p in other.curve.points if p.step == bad.step and p.loss is not None]
        for other in seen.logs
        if (rank := prefix.file_rank(other.name)) is not None
    }
    clean = [rank for rank, some in losses.items() if some and all(map(math.isfinite, some))]
    worse = [rank for rank, some in losses.items() if some and rank not in clean]
    return Elsewhere(step=bad.step, bad=tuple(sorted(worse)), clean=tuple(sorted(clean)))


def _lead(
    log: LogSeen, before: Sequence[Point], hits: Sequence[Hit], others: Elsewhere | None
) -> Lead:
    ranks = sorted({hit.rank for hit in hits if hit.about == "rank" and hit.rank is not None})
    return triage(
        before, ranks, broken=any(hit.fault in BROKEN for hit in log.hits), elsewhere=others
    )


def _suspected(lead: Lead) -> str:
    return "" if lead.cause == "unknown" else f"; suspected: {lead.cause}, for {lead.why}"


def _apart(lead: Lead) -> Evidence:
    """Return what was concluded from the steps before, and what would prove it."""
    told = {"suspected": lead.cause, "because": lead.why, "told apart by": lead.apart}
    return Evidence(source="steps before it", values=told)


def _zeros(points: Sequence[Point]) -> list[Point]:
    """Return the last points if they have a loss of exactly 0 that is not earned."""
    with_loss = [p for p in points if p.loss is not None and not p.rewarded]
    zeros = trailing(with_loss, [p.loss == 0 for p in with_loss])
    earlier = with_loss[: len(with_loss) - len(zeros)]
    if not zeros or any(bad(p.grad_norm) for p in zeros):
        return []
    if not earlier:
        return zeros if len(zeros) >= MANY else []
    course = [p.loss for p in earlier[-10:] if p.loss is not None and finite(p.loss)]
    return zeros if course and median(course) > FALLEN else []


def _zero(log: LogSeen, zeros: Sequence[Point]) -> Finding:
    norms = [p.grad_norm for p in zeros if p.grad_norm is not None]
    still = len(set(norms)) == 1 and len(norms) == len(zeros)
    return found(
        "loss_zero",
        "warning",
        named(log),
        "{log}: the loss is exactly 0 from {since} on, in {lines}{norm}: that is no success, but "
        "NaN that was filtered, or a batch without targets",
        quote(log, zeros[0]),
        count=len(zeros),
        log=log.name,
        since=at(zeros[0]),
        lines=_lines(len(zeros)),
        norm=f", with a gradient norm of {norms[0]:.4g}" if still else "",
    )


def _lines(times: int) -> str:
    return "1 line" if times == 1 else f"{times:,} lines"
