"""Keep what repeats as one hit with its count: a million equal lines take the room of one."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from diagnostics.finding import Kind, Severity
from diagnostics.rules import prefix
from diagnostics.rules.line import Line
from diagnostics.rules.rule import About, Rule, Source
from diagnostics.rules.when import LOOKED_AT, when

MOST_KEYS = 1_000
RANK_DIGITS = 9
QUOTED = 2_000
# What stands before the words that matter, in a line too long to quote whole.
LEAD = 500


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule found of one thing in one log: the first line in full, then how it went on.

    A thing is what the rule names (`name`, of kind `about`), or a rank; both are None where the
    lines do not say it. `template` is the rule's message for `values`. `first_seen` and
    `last_seen` are epoch seconds known to `time_error_s`, None where the lines carry no time.
    `over` is True where a later line ended it.
    """

    rule: str
    fault: str
    severity: Severity
    source: Source = "training"
    kind: Kind
    about: About | Literal["log", "rank"]
    template: str
    name: str | None = None
    rank: int | None = None
    line: int
    text: str
    values: Mapping[str, Any] = {}
    last_line: int
    count: int = 1
    first_seen: float | None = None
    last_seen: float | None = None
    time_error_s: float | None = None
    over: bool = False
    remedy: str = ""


class Run:
    """One hit while the log is read: what its first line said, and how it went on so far."""

    def __init__(self, rule: Rule, line: Line, at: int, values: Mapping[str, Any]) -> None:
        self.rule = rule
        self.number = self.last_line = line.number
        self.text = quoted(line.text, at)
        self.first = self.head = line.text[:LOOKED_AT].encode("utf-8", "replace")
        self.values = values
        self.rank: int | None = None
        self.name: str | None = None
        self.count = 0
        self.over = False

    def again(self, number: int, head: bytes, times: int = 1) -> None:
        """Count one more line, or more up to it; *head* is its beginning with its time."""
        self.count += times
        if number >= self.last_line:
            self.last_line = number
            self.head = head
        self.over = False


class End:
    """A line that ends what a rule found before, of one thing or of all."""

    __slots__ = ("_fold", "_name", "_rule")

    def __init__(self, fold: "Fold", rule: Rule, name: str | None) -> None:
        self._fold = fold
        self._rule = rule
        self._name = name

    def again(self, number: int, head: bytes, times: int = 1) -> None:
        """Note the end."""
        del number, head, times
        self._fold.end(self._rule, self._name)


Key = tuple[str, int | None, str | None]


class Fold:
    """The hits of one log, by rule, rank and name; past *most* keys both are let go."""

    def __init__(self, most: int = MOST_KEYS) -> None:
        self._most = most
        self._runs: dict[Key, Run] = {}

    def take(self, rule: Rule, line: Line, told: str | None = None) -> Run | None:
        """Return the run that the line belongs to if the rule holds for it; it counts nothing.

        *told* is what the line says together with lines above it, where it needs them.
        """
        match = rule.match(line.text if told is None else told)
        if match is None:
            return None
        rank = _ranked(rule, match, line)
        name = named(rule, rule.values(match)) if rule.named else None
        # Who wrote it tells lines apart where no rank and no name does.
        who = name if name or rank is not None else prefix.process(line.text)
        key: Key = (rule.id, rank, who)
        run = self._runs.get(key)
        if run is None and len(self._runs) >= self._most:
            key, rank, name = (rule.id, None, None), None, None
            run = self._runs.get(key)
        if run is None:
            at = match.start() if told is None else 0
            values = prefix.origin(line.text) | rule.values(match)
            run = self._runs[key] = Run(rule, line, at, values)
            run.rank, run.name = rank, name
        return run

    def add(self, rule: Rule, line: Line) -> bool:
        """Take and count the line if the rule holds for it, and say whether it did."""
        run = self.take(rule, line)
        if run is not None:
            run.again(line.number, line.text[:LOOKED_AT].encode("utf-8", "replace"))
        return run is not None

    def taken_end(self, rule: Rule, line: Line) -> End | None:
        """Return what the line ends, if it is a line that ends something."""
        match = rule.compiled_over.search(line.text)
        return None if match is None else End(self, rule, named(rule, match.groupdict()))

    def end(self, rule: Rule, name: str | None) -> None:
        """Note that what the rule found before is over; of all things where *name* is None."""
        for run in self._runs.values():
            if run.rule.id == rule.id and name in (None, run.name):
                run.over = True

    def hits(self) -> tuple[Hit, ...]:
        """Return the hits in the order of their first lines."""
        hits = [_hit(run) for run in self._runs.values() if run.count]
        return tuple(sorted(hits, key=lambda hit: (hit.line, hit.rule)))


def _ranked(rule: Rule, match: re.Match[str], line: Line) -> int | None:
    """Return the rank that the rule's fields say, or that the line says wrote it."""
    if rule.fields.get("rank") == "int" and (said := match["rank"]) and len(said) <= RANK_DIGITS:
        return int(said)
    return line.rank


def named(rule: Rule, values: Mapping[str, Any]) -> str | None:
    """Return the name that the fields make, None where one of them is absent."""
    if not rule.named:
        return None
    try:
        return rule.named.format(**values) or None
    except (KeyError, IndexError):
        return None


def quoted(text: str, at: int) -> str:
    """Return a line as it is quoted: whole, or what stands around *at* in a long one."""
    start = 0 if len(text) <= QUOTED else max(at - LEAD, 0)
    return text[start : start + QUOTED]


def _hit(run: Run) -> Hit:
    rule, first, last = run.rule, when(run.first), when(run.head)
    return Hit(
        rule=rule.id,
        fault=rule.fault,
        severity=rule.severity,
        source=rule.source,
        kind=rule.kind,
        about=rule.about if rule.named else rule.subject,
        template=rule.message,
        name=run.name,
        rank=run.rank,
        line=run.number,
        text=run.text,
        values=run.values,
        last_line=run.last_line,
        count=run.count,
        first_seen=first.time,
        last_seen=first.time if last.time is None else last.time,
        time_error_s=first.error_s,
        over=run.over,
        remedy=rule.remedy,
    )
