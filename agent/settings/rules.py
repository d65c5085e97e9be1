"""Rules as people write them: checked when the program is built, and when a site's are read."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.cli.errors import Mistake
from agent.settings.costly import costly
from diagnostics.finding import Kind, Severity
from diagnostics.knowledge.pages import load as pages
from diagnostics.knowledge.pages import near
from diagnostics.rules import rule
from diagnostics.rules.index import TABLE, RuleFile, parsed
from diagnostics.rules.kernel_seen import KernelRule
from diagnostics.rules.rule import About, RuleError, objections

Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}\.[a-z0-9][a-z0-9_]{0,59}$")]
Line = Annotated[str, Field(min_length=1, max_length=4_000)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]

# Faults that no page explains may be the site's own, and are called so.
OWN = "site_"
HELP = "correct the rule and repeat the command; gpudiag explain rules lists rules to copy from"
AROUND = 2
WIDEST = 120
SAID = {"extra_forbidden": "is no key of a rule", "missing": "is missing"}
# tomllib's words: Invalid value (at line 3, column 5)
AT = re.compile(r"\(at line (?P<line>\d+), column (?P<column>\d+)\)")


class RuleTable(BaseModel):
    """One [[rule]]: what a rule of `diagnostics.rules.rule` says, within these bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: Id
    fault: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_{}]{1,59}$")]
    severity: Severity
    kind: Kind = "event"
    source: Literal["training", "tool", "any"] = "training"
    subject: Literal["log", "rank"] = "log"
    about: About = "node"
    named: Annotated[str, Field(max_length=100)] = ""
    anchor: Annotated[str, Field(min_length=3, max_length=rule.LONGEST_ANCHOR)]
    pattern: Line
    fields: dict[Name, rule.Field] = {}
    message: Annotated[str, Field(min_length=4, max_length=300)]
    over_anchor: Annotated[str, Field(max_length=rule.LONGEST_ANCHOR)] = ""
    over: Annotated[str, Field(max_length=4_000)] = ""
    remedy: Annotated[str, Field(pattern=r"^([a-z]+\.[a-z_]+)?$")] = ""
    weak: bool = False
    example: Annotated[list[Line], Field(min_length=1)]
    not_example: Annotated[list[Line], Field(min_length=1)]
    references: list[Word] = []


class KernelRuleTable(RuleTable):
    """One [[rule]] for the kernel's lines."""

    source: Literal["kernel"] = "kernel"  # type: ignore[assignment] # told apart by this very field
    codes: Literal["", "xid", "sxid"] = ""
    note: bool = False
    follows: bool = False
    latest: bool = False
    window_s: Annotated[float, Field(ge=0, le=31 * 86_400)] = 0.0
    adds: Annotated[str, Field(max_length=40)] = ""


S = TypeVar("S")


def checked(site: Sequence[RuleFile], shipped: Sequence[RuleFile] = ()) -> None:
    """Raise Mistake where a file of the site is broken: file, line, rule and key are named."""
    taken = {one.id: file.name for file in shipped for one in parsed(file)}
    for file in site:
        for place in _tables(file):
            _one(place)
            name = str(place.table["id"])
            if name in taken:
                raise place.mistake("id", f"{name!r} stands in {taken[name]} too")
            taken[name] = file.name


def renewed(last: S, make: Callable[[], S]) -> tuple[S, Mistake | None]:
    """Return the new set of rules, or the last good one with what is wrong with the new.

    For what runs on: a site's mistake must not leave a node without rules.
    """
    try:
        return make(), None
    except Mistake as mistake:
        return last, mistake


class Place:
    """One table with where it stands, for what is said of it."""

    def __init__(self, file: RuleFile, number: int, table: Mapping[str, Any]) -> None:
        self.table = table
        self._file = file
        self._number = number

    def mistake(self, key: str, why: str, at: int | None = None) -> Mistake:
        """Return the mistake; *at* is where in the key's text it is."""
        lines = self._file.text.splitlines()
        number = self._line(lines, key)
        name = self.table.get("id")
        what = f"{self._file.name}, line {number + 1}: rule {name!r}: {key} {why}"
        return Mistake(what, HELP, excerpt(lines, number, self._column(lines[number], at)))

    def _line(self, lines: Sequence[str], key: str) -> int:
        """Return the index of the line that gives *key*, or of the table's first one."""
        heads = [n for n, line in enumerate(lines) if line.strip() == TABLE]
        if self._number >= len(heads):
            return 0
        start = heads[self._number]
        stop = heads[self._number + 1] if self._number + 1 < len(heads) else len(lines)
        form = re.compile(rf"\s*\"?{re.escape(key)}\"?\s*=")
        return next((n for n in range(start, stop) if form.match(lines[n])), start)

    @staticmethod
    def _column(line: str, at: int | None) -> int | None:
        """Return where a character of a literal string on one line stands."""
        opened = re.search(r"=\s*('''|')", line)
        return None if at is None or opened is None else opened.end() + at


def excerpt(lines: Sequence[str], number: int, column: int | None) -> tuple[str, ...]:
    """Return the lines around one, with a mark under its column."""
    first = max(number - AROUND, 0)
    shown = [f"{n + 1:>5} | {lines[n][:WIDEST]}" for n in range(first, number + 1)]
    if column is not None and column < WIDEST:
        shown.append(" " * (8 + column) + "^")
    return tuple(shown)


def _tables(file: RuleFile) -> list[Place]:
    try:
        tables = rule.read(file.name, file.text)
    except RuleError as problem:
        raise _unread(file, str(problem)) from None
    return [Place(file, number, table) for number, table in enumerate(tables)]


def _unread(file: RuleFile, said: str) -> Mistake:
    """Say where a file is no TOML, with the line."""
    if not (hit := AT.search(said)):
        return Mistake(said, HELP)
    number, column = int(hit["line"]) - 1, int(hit["column"]) - 1
    why = said[len(file.name) + 2 : hit.start()].strip()
    what = f"{file.name}, line {number + 1}: {why[:1].lower()}{why[1:]}"
    lines = file.text.splitlines() or [""]
    return Mistake(what, HELP, excerpt(lines, min(number, len(lines) - 1), column))


def _one(place: Place) -> None:
    """Check one table: its types and bounds, its expressions and examples, its fault."""
    table = place.table
    if not isinstance(table, dict):
        raise place.mistake("rule", "is no table")
    kernel = table.get("source") == "kernel"
    try:
        (KernelRuleTable if kernel else RuleTable).model_validate(table)
    except ValidationError as problem:
        # A key that is misspelt is missing too, and says more.
        first = min(problem.errors(), key=lambda error: error["type"] != "extra_forbidden")
        key = str(first["loc"][0]) if first["loc"] else "rule"
        why = SAID.get(first["type"], str(first["msg"]))
        close = near(key, RuleTable.model_fields) if first["type"] == "extra_forbidden" else None
        why += f"; did you mean {close}?" if close else ""
        raise place.mistake(key, why) from None
    made = rule.made("", table, KernelRule if kernel else rule.Rule)
    for key, wrong in objections(made):
        raise place.mistake(key, wrong, _at(getattr(made, key)))
    # What ends a condition has no example but its anchor.
    for key, lines in (("pattern", made.example), ("over", (made.over_anchor, *made.example))):
        if getattr(made, key) and (slow := costly(re.compile(getattr(made, key)), lines)):
            raise place.mistake(key, slow)
    if made.fault not in pages() and not made.fault.startswith(OWN):
        close = near(made.fault, pages())
        other = f"; did you mean {close}?" if close else ""
        raise place.mistake(
            "fault", f"{made.fault!r} is none of gpudiag's{other} ({OWN}... is free)"
        )


def _at(expression: object) -> int | None:
    """Return where an expression is broken."""
    try:
        re.compile(str(expression))
    except re.error as problem:
        return problem.pos
    return None
