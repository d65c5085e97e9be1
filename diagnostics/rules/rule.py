"""A symptom rule: which line means which fault, as a TOML table."""

import re
import string
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, TypeVar

import msgspec

from diagnostics import package_data
from diagnostics.finding import Kind, Severity
from diagnostics.rules.needed import needed

FOLDER = "diagnostics/rules/data"
# Files of rules for the kernel's lines are called so, and their rules have `source = "kernel"`.
KERNEL = "kernel_"
Field = Literal["int", "number", "text"]
Source = Literal["kernel", "training", "tool", "any"]
About = Literal["node", "gpu", "nvswitch", "nic", "port", "disk", "mount", "process", "device"]

# Names that a message's other arguments and the frame of a finding take.
RESERVED = frozenset(
    {
        *("who", "kind", "variant", "rule", "count", "confidence", "first_seen", "last_seen"),
        *("remedies", "span", "ago", "peak", "window", "allowed"),
    }
)

# A hostile line makes `a.*b` take the square of its length: gaps are bounded.
UNBOUNDED = re.compile(r"(?<!\\)(\.|\\[sSwWdD]|\])[*+]")


# A gap in an anchor makes the set of all of them slow to compile and to search.
GAP = re.compile(r"(?<!\\)(?:[*+]|\{\d{0,3},\d{0,4}\})")
CLASS = re.compile(r"\[\^?\]?[^\]]{0,100}\]")
LONGEST_ANCHOR = 160


class RuleError(ValueError):
    """A rule that cannot be used; the message names its file, the rule and the key."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One symptom.

    `source` says whose lines are searched: the kernel's own, or those of a training job or of a
    tool, which are all others. `anchor` is a short expression, literal where possible and without
    gaps, that every such line holds in any case of letters; it goes to Hyperscan. `pattern` is a
    Python expression for the lines that the anchor hits; its named groups are the `fields`.

    `subject` says what a finding is about: the rank that wrote the line, or the log. Where `named`
    is given, it is the thing of kind `about` whose name the fields make, and things are told apart.
    An `event` happened; a `condition` holds until a line for which `over` holds, with the same name
    where it has one. `message` is filled with fields that are always present. `remedy` is the id of
    what could be done. A `weak` rule holds only where no other does for the same line.
    """

    id: str
    fault: str
    severity: Severity
    kind: Kind = "event"
    source: Source = "training"
    subject: Literal["log", "rank"] = "log"
    about: About = "node"
    named: str = ""
    anchor: str
    pattern: str
    fields: Mapping[str, Field] = {}
    message: str
    over_anchor: str = ""
    over: str = ""
    remedy: str = ""
    weak: bool = False
    example: tuple[str, ...]
    not_example: tuple[str, ...]
    references: tuple[str, ...] = ()

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Return the pattern, compiled at its first hit."""
        return re.compile(self.pattern)

    @cached_property
    def compiled_over(self) -> re.Pattern[str]:
        """Return the expression of the line that ends it."""
        return re.compile(self.over)

    @cached_property
    def needed(self) -> str:
        """Return what stands in each line for which the rule holds."""
        return needed(self.pattern)

    def match(self, text: str) -> re.Match[str] | None:
        """Return where the rule holds in a line, None where it does not."""
        return self.compiled.search(text) if self.needed in text else None

    def values(self, hit: re.Match[str]) -> dict[str, Any]:
        """Return the fields that a matched line gives; absent ones are left out."""
        groups = hit.groupdict().items()
        return {name: _typed(text, self.fields[name]) for name, text in groups if text is not None}


R = TypeVar("R", bound=Rule)


def _typed(value: str, field: Field) -> int | float | str:
    # Digits without end are legal in a log and not in a number.
    if field == "int" and value.isascii() and value.isdigit() and len(value) <= 18:  # noqa: PLR2004 - 64 bits
        return int(value)
    if field == "number" and len(value) <= 32:  # noqa: PLR2004 - more digits than a float holds
        try:
            return float(value)
        except ValueError:
            return value
    return value[:200]


def families() -> tuple[str, ...]:
    """Return the names of the shipped files, without their ending, in order."""
    from importlib.resources import files  # noqa: PLC0415 - a start with a cache does without

    held = (files("diagnostics.rules") / "data").iterdir()
    return tuple(sorted(f.name[:-5] for f in held if f.name.endswith(".toml")))


def load() -> tuple[Rule, ...]:
    """Return the shipped rules for text that is not the kernel's, in the order of their files."""
    named = (family for family in families() if not family.startswith(KERNEL))
    return tuple(rule for family in named for rule in shipped(family, Rule))


def shipped(family: str, form: type[R]) -> tuple[R, ...]:
    """Return the rules of one shipped file."""
    name = f"{family}.toml"
    text = package_data.text("diagnostics.rules", f"data/{name}")
    return tuple(made(f"{FOLDER}/{name}", table, form) for table in read(f"{FOLDER}/{name}", text))


def parse(name: str, text: str) -> tuple[Rule, ...]:
    """Return the rules of one TOML text; *name* is the file that RuleError names."""
    return tuple(made(name, table, Rule) for table in read(name, text))


def read(name: str, text: str) -> list[Any]:
    """Return the tables of one TOML text; RuleError names the file and, where it can, the line."""
    import tomllib  # noqa: PLC0415 - for a log that no rule holds for it is not needed

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise RuleError(f"{name}: {problem}") from None
    if set(tables) - {"rule"} or not isinstance(tables.get("rule"), list):
        raise RuleError(f"{name}: rules stand under [[rule]], and nothing else does")
    found: list[Any] = tables["rule"]
    return found


def made(name: str, table: Any, form: type[R]) -> R:  # noqa: ANN401 - any TOML
    """Return the rule that a table states."""
    known = table.get("id") if isinstance(table, dict) else None
    try:
        return msgspec.convert(table, form)
    except msgspec.ValidationError as problem:
        raise RuleError(f"{name}: rule {known!r}: {problem}") from None


def objections(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a rule beyond its types: the key that is wrong, and why."""
    for key in ("anchor", "pattern", "over_anchor", "over"):
        try:
            re.compile(getattr(rule, key))
        except re.error as problem:
            yield key, f"is not a valid expression: {problem}"
            return
    yield from _bounds(rule)
    yield from _names(rule)
    yield from _proof(rule)


def _bounds(rule: Rule) -> Iterator[tuple[str, str]]:
    for key in ("pattern", "over"):
        if UNBOUNDED.search(getattr(rule, key)):
            yield key, "has a gap without bound; write {0,200} for * and +"
    for key in ("anchor", "over_anchor"):
        if GAP.search(CLASS.sub("x", getattr(rule, key))):
            yield key, "has a gap; an anchor is literal but for classes and alternatives"
        if len(getattr(rule, key)) > LONGEST_ANCHOR:
            yield key, f"is longer than {LONGEST_ANCHOR} characters"
    if bool(rule.over) != bool(rule.over_anchor):
        yield "over", "and over_anchor go together: give both, or none"


def _names(rule: Rule) -> Iterator[tuple[str, str]]:
    groups = set(rule.compiled.groupindex)
    if groups != set(rule.fields):
        yield "fields", f"are {sorted(rule.fields)}, the groups of the pattern {sorted(groups)}"
    if taken := RESERVED & set(rule.fields):
        yield "fields", f"{sorted(taken)} have a meaning of their own; choose another name"
    if unknown := filled(rule.named) - set(rule.fields):
        yield "named", f"names {sorted(unknown)}, which are no fields"
    adds = getattr(rule, "adds", "")
    if adds and rule.fields.get(adds) != "int":
        yield "adds", f"names {adds!r}, which is no field of kind int"


def filled(template: str) -> set[str]:
    """Return the names of the fields that a template is filled with."""
    return {part for _, part, _, _ in string.Formatter().parse(template) if part}


def _proof(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield where a rule fails its own examples."""
    anchor = re.compile(rule.anchor, re.IGNORECASE)
    for text in rule.example:
        if not anchor.search(text + "\n"):
            yield "anchor", f"is not part of the example {text!r}"
        if (hit := rule.match(text)) is None:
            yield "example", f"the pattern does not hold for {text!r}"
        elif lacking := filled(rule.message) - set(rule.values(hit)):
            yield "message", f"{sorted(lacking)} is not in every example"
    for text in rule.not_example:
        if anchor.search(text + "\n") and rule.match(text) is not None:
            yield "not_example", f"the rule holds for {text!r}"
