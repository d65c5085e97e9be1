"""Keep what repeats as one hit with its count: a million equal lines take the room of one."""

from collections.abc import Mapping
from typing import Any

import msgspec

from diagnostics.finding import Kind, Severity
from diagnostics.rules.line import Line
from diagnostics.rules.rule import Rule

MOST_KEYS = 1_000
QUOTED = 2_000
# What stands before the words that matter, in a line too long to quote whole.
LEAD = 500


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule found of one rank in one log: the first line in full, then how it went on.

    `rank` is None where the lines do not say it. `template` is the rule's message for `values`.
    """

    rule: str
    fault: str
    severity: Severity
    kind: Kind
    about: str
    template: str
    rank: int | None = None
    line: int
    text: str
    values: Mapping[str, Any] = {}
    last_line: int
    count: int = 1


class Fold:
    """The hits of one log, by rule and rank; past *most* keys the rank is let go."""

    def __init__(self, most: int = MOST_KEYS) -> None:
        self._most = most
        self._first: dict[tuple[str, int | None], Hit] = {}
        self._later: dict[tuple[str, int | None], tuple[int, int]] = {}

    def add(self, rule: Rule, line: Line) -> bool:
        """Take the line if the rule holds for it, and say whether it did."""
        match = rule.match(line.text)
        if match is None:
            return False
        values = rule.values(match)
        said = values.get("rank")
        rank = said if isinstance(said, int) else line.rank
        if len(self._first) >= self._most and (rule.id, rank) not in self._first:
            rank = None
        key = (rule.id, rank)
        if key not in self._first:
            start = 0 if len(line.text) <= QUOTED else max(match.start() - LEAD, 0)
            text = line.text[start : start + QUOTED]
            self._first[key] = _hit(rule, rank, line.number, text, values)
        self._later[key] = (line.number, self._later.get(key, (0, 0))[1] + 1)
        return True

    def hits(self) -> tuple[Hit, ...]:
        """Return the hits in the order of their first lines."""
        hits = (
            msgspec.structs.replace(hit, last_line=last, count=count)
            for key, hit in self._first.items()
            for last, count in (self._later[key],)
        )
        return tuple(sorted(hits, key=lambda hit: (hit.line, hit.rule)))


def _hit(rule: Rule, rank: int | None, number: int, text: str, values: Mapping[str, Any]) -> Hit:
    return Hit(
        rule=rule.id,
        fault=rule.fault,
        severity=rule.severity,
        kind=rule.kind,
        about=rule.subject,
        template=rule.message,
        rank=rank,
        line=number,
        text=text,
        values=values,
        last_line=number,
    )
