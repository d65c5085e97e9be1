"""Whether the norm of the gradients is a number, and stays in its range."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from diagnostics.check import Limits, check
from diagnostics.checks.training.given import evidence, subject, unread
from diagnostics.checks.training.steps import at, bad, finite, named, quote, run, trailing
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.middle import median
from diagnostics.series.point import Point

# The search for a loss scale at the start of a run; DeepSpeed's takes one step for each halving.
SEARCH_STEPS = 40


class GradientLimits(Limits, frozen=True, kw_only=True):
    """When a norm that is not finite, or grows, is told."""

    lasting: Annotated[int, msgspec.Meta(ge=1, description="steps that must all be not finite")] = 3
    times: Annotated[
        float, msgspec.Meta(ge=2, description="last norms over the earlier median")
    ] = 100.0
    earlier: Annotated[int, msgspec.Meta(ge=2, description="earlier steps that are needed")] = 20


@check(
    "training.gradients",
    stage="training",
    faults=("nonfinite_grad_norm", "grad_norm_exploding"),
    proved="documented",
)
def gradients(seen: TrainingLogs, limits: GradientLimits) -> Iterator[Statement]:
    """Each step has gradients of finite norm, and no hundred times what it was.

    Under fp16 a step that overflows is skipped, and its norm is infinite by right: once in a
    thousand steps, and for the first ones, while the loss scale is searched. Several in a row are
    no step at all, and the weights are next. The counter of NaN iterations is not believed: it
    stands at 0 beside a norm of NaN.
    """
    yield from unread(seen)
    told = 0
    for log in seen.logs:
        hits = [hit for hit in log.hits if hit.fault == "nonfinite_grad_norm"]
        points = [p for p in run(log) if p.grad_norm is not None]
        if hits:
            yield _by_line(log)
        elif log.curve.first_bad is None and (stuck := _stuck(points, limits)):
            yield _not_finite(log, stuck)
        elif grown := _grown(points, limits):
            yield _exploding(log, *grown)
        told += len(points)
    if told:
        yield Well(f"the gradient norm is finite at the end of {told:,} steps")
    elif seen.logs:
        yield NotApplicable(why="no gradient norm is printed in a form that is known")


def _by_line(log: LogSeen) -> Finding:
    hits = [hit for hit in log.hits if hit.fault == "nonfinite_grad_norm"]
    first = hits[0]
    return found(
        "nonfinite_grad_norm",
        first.severity,
        subject(log, hits),
        "{log}: " + first.template,
        *evidence(log, hits),
        kind=first.kind,
        variant=first.rule.partition(".")[2],
        rule=first.rule,
        count=sum(hit.count for hit in hits),
        confidence=0.95,
        **{"log": log.name, **first.values},
    )


def _stuck(points: Sequence[Point], limits: GradientLimits) -> list[Point]:
    """Return the last points with a norm that is not finite, where that is not a scale's search."""
    stuck = trailing(points, [bad(p.grad_norm) for p in points])
    if not stuck:
        return []
    searching = len(points) == len(stuck) and _early(stuck) and len(stuck) <= SEARCH_STEPS
    # A loss that is lost or 0 beside it says that the step was not merely skipped.
    gone = any(p.lost or p.loss == 0 for p in stuck)
    if searching and not gone:
        return []
    return stuck if gone or len(stuck) >= limits.lasting else []


def _early(stuck: Sequence[Point]) -> bool:
    """Return whether the run has only begun: by its step, or by a rate that is still 0."""
    step, rate = stuck[-1].step, stuck[-1].lr
    return (step is not None and step <= SEARCH_STEPS) or rate == 0


def _not_finite(log: LogSeen, stuck: Sequence[Point]) -> Finding:
    lost = any(p.lost or p.loss == 0 for p in stuck)
    return found(
        "nonfinite_grad_norm",
        "critical",
        named(log),
        "{log}: the gradient norm is not finite from {since} on, in {count} steps{loss}",
        quote(log, stuck[0]),
        quote(log, stuck[-1]),
        count=len(stuck),
        log=log.name,
        since=at(stuck[0]),
        loss="; the loss is left out or reads 0, as frameworks print NaN" if lost else "",
    )


def _grown(points: Sequence[Point], limits: GradientLimits) -> tuple[Sequence[Point], float] | None:
    """Return the last points whose norm is far above the earlier ones, and the middle of those."""
    usable = [p for p in points if finite(p.grad_norm)]
    if len(usable) < limits.earlier + limits.lasting:
        return None
    last = usable[-limits.lasting :]
    before = median([p.grad_norm or 0.0 for p in usable[: -limits.lasting][-1000:]])
    grown = before > 0 and all((p.grad_norm or 0.0) > limits.times * before for p in last)
    return (last, before) if grown else None


def _exploding(log: LogSeen, last: Sequence[Point], before: float) -> Finding:
    now = median([p.grad_norm or 0.0 for p in last])
    return found(
        "grad_norm_exploding",
        "warning",
        named(log),
        "{log}: the gradient norm is {now} in the last {recent} steps, {before} in those before",
        quote(log, last[0]),
        log=log.name,
        now=f"{now:.4g}",
        before=f"{before:.4g}",
        recent=len(last),
    )
