"""What a fault in a log counts for beside the others of the same log: a cause, or its echo.

A job that ends prints one cause and a thousand lines that follow from it. What follows is kept as a
note, so that nobody drains a node for the echo of an error in a program, or of a time limit.
"""

from collections.abc import Iterator, Mapping, Sequence

from diagnostics.checks.training.given import evidence, named_ranks, subject
from diagnostics.finding import Finding, NotApplicable, Severity, Statement, Well, found
from diagnostics.incidents.training import (
    BY_SIGNAL,
    CONNECTIONS,
    ENDS,
    FOLDED,
    OWN_CODE,
    WORDS_OF_PYTHON,
)
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import LogSeen, TrainingLogs

# A traceback and what caused it stand together; another rank's can come this much earlier.
TOGETHER = 60
# Whoever prints steps this long after an exception has outlived it.
WENT_ON = 40

# What a program can catch: a module that it does without, a batch that it tries again in halves.
OUTLIVED = frozenset({*OWN_CODE, "cuda_oom"})


class Story:
    """The faults of one log in the order of their lines."""

    def __init__(self, log: LogSeen) -> None:
        self.log = log
        self.hits = [hit for hit in log.hits if hit.source != "tool"]
        self.first: Mapping[str, int] = {}
        first: dict[str, int] = {}
        for hit in self.hits:
            first.setdefault(hit.fault, hit.line)
        self.first = first
        ends = [hit.line for hit in self.hits if hit.fault in ENDS]
        self._ended = min(ends) if ends else None

    def of(self, faults: Sequence[str]) -> Iterator[list[Hit]]:
        """Yield the hits of each of these faults that the log has, in the order of their lines."""
        for fault in self.first:
            if fault in faults:
                yield [hit for hit in self.hits if hit.fault == fault]

    def severity(self, hits: Sequence[Hit]) -> Severity:
        """Return how grave a fault is in this log."""
        gravest = max((hit.severity for hit in hits), key=("info", "warning", "critical").index)
        fault = hits[0].fault
        if fault == "nccl_wrong_interface":
            return "critical" if CONNECTIONS & set(self.first) else "info"
        if self._by_an_end(fault, hits) or self._folded(fault) or self._outlived(fault, hits):
            return "info"
        return gravest

    def _by_an_end(self, fault: str, hits: Sequence[Hit]) -> bool:
        """Return whether it follows from an end that is nobody's fault."""
        if self._ended is None or fault in ENDS:
            return False
        return fault in BY_SIGNAL or hits[0].line > self._ended

    def _folded(self, fault: str) -> bool:
        """Return whether another fault of the log says more of the same."""
        if fault not in FOLDED:
            return False
        within = self.first[fault] + TOGETHER if fault in WORDS_OF_PYTHON else None
        grave = {hit.fault for hit in self.hits if hit.severity == "critical"} - {fault}
        said = [other for other in grave if other in FOLDED[fault]]
        return any(within is None or self.first[other] <= within for other in said)

    def _outlived(self, fault: str, hits: Sequence[Hit]) -> bool:
        """Return whether the run went on after an exception, which was caught then."""
        if fault not in OUTLIVED:
            return False
        last = max(hit.last_line for hit in hits)
        quotes = (self.log.curve.finite, self.log.curve.timed)
        return any(quote is not None and quote.line > last + WENT_ON for quote in quotes)


def faults_said(seen: TrainingLogs, faults: Sequence[str], what: str) -> Iterator[Statement]:
    """Yield one finding for each of these faults of each log; *what* none of the lines means."""
    told = False
    for log in seen.logs:
        story = Story(log)
        for hits in story.of(faults):
            yield finding(log, hits, story.severity(hits))
            told = True
    if not told:
        yield nothing(seen, what)


def nothing(seen: TrainingLogs, what: str) -> Statement:
    """Return that none of the lines means *what*, if there were lines."""
    # What of a log could not be read is for training.symptoms to say, once.
    lines = sum(log.lines for log in seen.logs)
    if lines:
        return Well(f"none of {lines:,} lines means {what}")
    return NotApplicable(why="the log is empty" if seen.logs else "no log was given: --log FILE")


def finding(
    log: LogSeen,
    hits: Sequence[Hit],
    severity: Severity,
    more: str = "",
    others: Sequence[Hit] = (),
) -> Finding:
    """Return one finding for all lines of one fault; the first of them is its sentence.

    *others* are lines of other faults that say more of this one.
    """
    first = hits[0]
    name = first.rule.partition(".")[2]
    about = subject(log, hits)
    return found(
        first.fault,
        severity,
        about,
        f"{{who}}: {first.template}{more}",
        *evidence(log, hits),
        *evidence(log, others),
        kind=first.kind,
        variant=name if name != first.fault else "",
        rule=first.rule,
        count=sum(hit.count for hit in hits),
        confidence=0.6 if all(hit.severity == "warning" for hit in hits) else 0.9,
        first_seen=first.first_seen if first.time_error_s and first.time_error_s <= 1 else None,
        remedies=tuple(dict.fromkeys(hit.remedy for hit in hits if hit.remedy)),
        **{"who": named_ranks(about), **first.values},
    )
