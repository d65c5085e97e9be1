"""Whether the loss is a number."""

from collections.abc import Iterator

from diagnostics.check import check
from diagnostics.checks.training.given import evidence, quoted, subject, unread
from diagnostics.finding import Finding, NotApplicable, Statement, Well, found
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import LogSeen, TrainingLogs


@check("training.loss", stage="training", faults=("nan_loss",), proved="real-tool")
def loss(seen: TrainingLogs) -> Iterator[Statement]:
    """Each step has a finite loss.

    Once NaN or infinity is in the weights, every later step is wasted: the job holds its GPUs and
    trains nothing. A loss that was finite again later is a warning: steps were skipped or lost.
    """
    yield from unread(seen)
    judged = 0
    for log in seen.logs:
        hits = [hit for hit in log.hits if hit.fault == "nan_loss"]
        if hits or log.curve.bad:
            yield _finding(log, hits)
        judged += log.curve.finite is not None
    if judged:
        yield Well("; ".join(_well(log) for log in seen.logs if log.curve.finite))
    elif seen.logs:
        yield NotApplicable(why="no loss is printed in a form that is known")


def _well(log: LogSeen) -> str:
    last = next((p for p in reversed(log.curve.points) if p.loss is not None), None)
    value = "" if last is None else f", {last.loss:.6g} in the last"
    return f"the loss is finite in {log.curve.count - log.curve.bad:,} steps{value}"


def _finding(log: LogSeen, hits: list[Hit]) -> Finding:
    curve = log.curve
    times = max(curve.bad, sum(hit.count for hit in hits))
    last = max([curve.last_bad.line if curve.last_bad else 0, *(hit.last_line for hit in hits)])
    proof = evidence(log, hits) or (quoted(log, curve.first_bad),)
    rule = hits[0].rule if hits else None
    about = subject(log, hits)
    if curve.finite is not None and curve.finite.line > last:
        return found(
            "nan_loss",
            "warning",
            about,
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
    step = curve.first_bad.step if curve.first_bad else None
    since = f"step {step}" if step is not None else f"line {proof[0].line}"
    return found(
        "nan_loss",
        "critical",
        about,
        "{log}: the loss is not finite from {since} on, in {lines}",
        *proof,
        rule=rule,
        count=times,
        log=log.name,
        since=since,
        lines=_lines(times),
    )


def _lines(times: int) -> str:
    return "1 line" if times == 1 else f"{times:,} lines"
