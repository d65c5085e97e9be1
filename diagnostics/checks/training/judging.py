"""What a fault in the logs of a job counts for beside the others: a cause, or its echo.

A job that ends prints one cause and a thousand lines that follow from it. What follows is kept as a
note, so that nobody drains a node for the echo of an error in a program, or of a time limit. The
logs of one job are judged together, and so are those that a person names: each fault is told once,
with all that quote it.
"""

import math
from collections.abc import Collection, Iterator, Sequence

import msgspec

from collectors.facts.subject import Subject
from diagnostics.checks.training.given import QUOTED, evidence, named_ranks, rank_of
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found
from diagnostics.incidents.training import (
    ASKED,
    BEFORE_IT,
    BY_SIGNAL,
    BY_TIME,
    CONNECTIONS,
    ENDS,
    FOLDED,
    OF_GPU,
    OF_HOST,
    OWN_CODE,
    WORDS_OF_PYTHON,
)
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import LogSeen, TrainingLogs

# A traceback and what caused it stand together; another rank's can come this much earlier.
TOGETHER = 60
# Whoever prints steps this long after an exception has outlived it.
WENT_ON = 40
LONGEST_SAID = 160

# What makes a rank leave the others waiting.
CAUSES = frozenset({*OF_GPU, *OF_HOST, *OWN_CODE})
# What a program can catch: a module that it does without, a batch that it tries again in halves.
OUTLIVED = frozenset({*OWN_CODE, "cuda_oom"})


class Said(msgspec.Struct, frozen=True):
    """What one rule found in one of the logs."""

    log: LogSeen
    hit: Hit

    @property
    def rank(self) -> int | None:
        """Return the rank that wrote it."""
        return rank_of(self.log, self.hit)


class Story:
    """The faults of a job, log by log in the order of their lines."""

    def __init__(self, logs: Sequence[LogSeen]) -> None:
        self.logs = logs
        self.said = [Said(log, hit) for log in logs for hit in log.hits if hit.source != "tool"]
        times = [said.hit.first_seen for said in self.said]
        if len(logs) > 1 and None not in times:
            self.said.sort(key=lambda said: said.hit.first_seen or 0.0)
        self._first: dict[tuple[str, str], int] = {}
        for said in self.said:
            self._first.setdefault((said.log.name, said.hit.fault), said.hit.line)
        self._faults = dict.fromkeys(said.hit.fault for said in self.said)
        self._grave = {s.hit.fault for s in self.said if s.hit.severity == "critical"}

    def of(self, faults: Sequence[str]) -> Iterator[list[Said]]:
        """Yield what was said of each of these faults, the fault that came first first."""
        for fault in self._faults:
            if fault in faults:
                yield [said for said in self.said if said.hit.fault == fault]

    def beside(self, faults: Collection[str]) -> Iterator[list[Said]]:
        """Yield what was said of each fault that is none of these."""
        yield from self.of([fault for fault in self._faults if fault not in faults])

    def severity(self, told: Sequence[Said]) -> Severity:
        """Return how grave a fault is in this job."""
        fault = told[0].hit.fault
        if fault == "nccl_wrong_interface":
            return "critical" if CONNECTIONS & set(self._faults) else "info"
        if all(self._by_an_end(s) for s in told) or self._folded(fault, told):
            return "info"
        if fault in OUTLIVED and all(_outlived(s) for s in told):
            return "info"
        return max((s.hit.severity for s in told), key=("info", "warning", "critical").index)

    def has_a_cause(self) -> bool:
        """Return whether a fault of a GPU, the host or the program itself is told as well."""
        return bool(CAUSES & self._grave)

    def _by_an_end(self, said: Said) -> bool:
        """Return whether it follows from an end that is nobody's fault."""
        if said.hit.fault in ENDS:
            return False
        # A step is cancelled also when a task of it was killed: that kill stands above.
        asked = said.hit.fault in ASKED and ENDS & set(self._faults)
        timed = said.hit.fault in BY_SIGNAL and BY_TIME & set(self._faults)
        if asked or timed:
            return True
        ends = (self._first.get((said.log.name, end)) for end in ENDS)
        return any(end is not None and end < said.hit.line for end in ends)

    def _folded(self, fault: str, told: Sequence[Said]) -> bool:
        """Return whether another fault says more of the same."""
        more = FOLDED.get(fault, frozenset()) & self._grave - {fault}
        if fault not in WORDS_OF_PYTHON:
            return bool(more)
        return all(self._beside(log, fault, more) for log in {said.log.name for said in told})

    def _beside(self, log: str, fault: str, more: frozenset[str]) -> bool:
        """Return whether one of *more* is above or close below it, or what it waited for above."""
        line = self._first[log, fault]
        near = any(self._line(log, other) <= line + TOGETHER for other in more)
        return near or any(self._line(log, other) < line for other in BEFORE_IT & self._grave)

    def _line(self, log: str, fault: str) -> float:
        return self._first.get((log, fault), math.inf)


def stories(seen: TrainingLogs) -> tuple[Story, ...]:
    """Return one story for each job; logs of which no job is known are taken for those of one."""
    of: dict[str | None, list[LogSeen]] = {}
    for log in seen.logs:
        of.setdefault(log.job, []).append(log)
    return tuple(Story(logs) for logs in of.values())


def _outlived(said: Said) -> bool:
    """Return whether the run went on after an exception, which was caught then."""
    quotes = (said.log.curve.finite, said.log.curve.timed)
    return any(q is not None and q.line > said.hit.last_line + WENT_ON for q in quotes)


def faults_said(seen: TrainingLogs, faults: Sequence[str], what: str) -> Iterator[Statement]:
    """Yield one finding for each of these faults; *what* none of the lines means."""
    groups = [(story, told) for story in stories(seen) for told in story.of(faults)]
    for story, told in groups:
        yield finding(told, story.severity(told), _where(told[0].hit))
    if not groups:
        yield nothing(seen, what)


def _where(hit: Hit) -> str:
    """Return where in the program's own code an exception was raised, and what it said."""
    values = hit.values
    if "file" not in values:
        return ""
    place = f"{values['file']}:{values['at']} in {values['function']}"
    said = str(values.get("said", ""))[:LONGEST_SAID]
    return f" ({place}{': ' if said else ''}{said})"


def nothing(seen: TrainingLogs, what: str) -> Statement:
    """Return that none of the lines means *what*, if there were lines."""
    # What of a log could not be read is for training.symptoms to say, once.
    lines = sum(log.lines for log in seen.logs)
    if lines:
        return Well(f"none of {lines:,} lines means {what}")
    return NotApplicable(why="the log is empty" if seen.logs else "no log was given: --log FILE")


def finding(
    told: Sequence[Said], severity: Severity, more: str = "", others: Sequence[Said] = ()
) -> Finding:
    """Return one finding for all lines of one fault; the first of them is its sentence.

    *more* is what is known beside the rule's sentence, *others* are lines of other faults that say
    more of this one.
    """
    first = told[0].hit
    name = first.rule.partition(".")[2]
    about = subject(told)
    exact = first.time_error_s is not None and first.time_error_s <= 1
    return found(
        first.fault,
        severity,
        about,
        f"{{who}}: {first.template}{'{more}' if more else ''}",
        *quotes(told[:QUOTED]),
        *quotes(others[:QUOTED]),
        kind=first.kind,
        variant=name if name != first.fault else "",
        rule=first.rule,
        count=sum(said.hit.count for said in told),
        confidence=0.6 if all(said.hit.severity == "warning" for said in told) else 0.9,
        first_seen=first.first_seen if exact else None,
        remedies=tuple(dict.fromkeys(said.hit.remedy for said in told if said.hit.remedy)),
        **{"who": named_ranks(about), **first.values, **({"more": more} if more else {})},
    )


def subject(told: Sequence[Said]) -> Subject:
    """Return the rank that wrote it where the rule is about it and it is one, else the log."""
    ranks = tuple(sorted({said.rank for said in told if said.rank is not None}))
    log = told[0].log
    if len(ranks) != 1:
        return Subject(kind="log", name=log.name, ranks=ranks or None, job=log.job)
    if all(said.hit.about == "rank" for said in told):
        return Subject(kind="rank", name=str(ranks[0]), rank=ranks[0], job=log.job)
    return Subject(kind="log", name=log.name, rank=ranks[0], job=log.job)


def quotes(told: Sequence[Said]) -> Iterator[Evidence]:
    """Yield the first line of each as it stands in its log."""
    for said in told:
        yield from evidence(said.log, [said.hit])
