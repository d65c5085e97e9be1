"""The compiled index: what the search must know of all rules, and where each stands in its file.

With it nothing is parsed before a line hits an anchor, and then only the rule that is asked for.
"""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec

from diagnostics.rules.anchors import Anchors
from diagnostics.rules.kernel import KernelKnowledge
from diagnostics.rules.kernel_seen import KernelRule
from diagnostics.rules.knowledge import Entry, entry
from diagnostics.rules.rule import KERNEL, Rule, RuleError, made, read

TABLE = "[[rule]]"


class RuleFile(msgspec.Struct, frozen=True):
    """One file of rules as it was read; `name` is what an error calls it."""

    name: str
    text: str

    @property
    def of_kernel(self) -> bool:
        """Return whether its rules are for the kernel's lines where they do not say it."""
        return self.name.rpartition("/")[2].startswith(KERNEL)


class Spot(msgspec.Struct, frozen=True, array_like=True):
    """Where a rule stands: the number of its file, and its span of characters there."""

    file: int
    start: int
    stop: int


class Index(msgspec.Struct, frozen=True):
    """What the search knows of each rule, and where it stands."""

    entries: tuple[Entry, ...]
    spots: tuple[Spot, ...]


def index(files: Sequence[RuleFile]) -> Index:
    """Return the index of some files; raises RuleError where one cannot be read."""
    entries: list[Entry] = []
    spots: list[Spot] = []
    for number, file in enumerate(files):
        rules = parsed(file)
        spans = list(_spans(file.text))
        if [_id(file, span) for span in spans] != [rule.id for rule in rules]:
            # Only a table's head inside a string can do that: such a file is read whole each time.
            spans = [(0, len(file.text))] * len(rules)
        entries += (entry(rule) for rule in rules)
        spots += (Spot(number, *span) for span in spans)
    return Index(tuple(entries), tuple(spots))


def parsed(file: RuleFile) -> list[Rule]:
    """Return all rules of a file."""
    return [_rule(file, table) for table in read(file.name, file.text)]


class Shelf:
    """The rules of some files, each read when it is asked for."""

    def __init__(self, files: Sequence[RuleFile], known: Index) -> None:
        self._files = files
        self._index = known
        self._read: dict[int, Rule] = {}

    def __call__(self, number: int) -> Rule:
        """Return the rule of this number in the index."""
        rule = self._read.get(number)
        if rule is None:
            rule = self._read[number] = self._one(number)
        return rule

    def _one(self, number: int) -> Rule:
        spot, wanted = self._index.spots[number], self._index.entries[number].id
        file = self._files[spot.file]
        tables = read(file.name, file.text[spot.start : spot.stop])
        for table in tables:
            if table.get("id") == wanted:
                return _rule(file, table)
        raise RuleError(f"{file.name}: rule {wanted!r} is not where it was")


class KernelRules(Sequence[KernelRule]):
    """The rules of some numbers of the index, each read when it is asked for."""

    def __init__(self, shelf: Shelf, numbers: Sequence[int]) -> None:
        self._shelf = shelf
        self._numbers = numbers

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> KernelRule: ...
    @overload
    def __getitem__(self, at: slice) -> "KernelRules": ...
    def __getitem__(self, at: int | slice) -> "KernelRule | KernelRules":
        """Read one, or choose some."""
        if isinstance(at, slice):
            return KernelRules(self._shelf, self._numbers[at])
        rule = self._shelf(self._numbers[at])
        assert isinstance(rule, KernelRule), rule.id
        return rule


def for_kernel_log(known: Index, shelf: Shelf, database: bytes | None = None) -> KernelKnowledge:
    """Return the rules for the kernel's own log; *database* is of the same index."""
    numbers = [n for n, one in enumerate(known.entries) if one.source == "kernel"]
    ends = [n for n in numbers if known.entries[n].over_anchor]
    anchors = [known.entries[n].anchor for n in numbers]
    anchors += [known.entries[n].over_anchor for n in ends]
    rules, over = KernelRules(shelf, numbers), KernelRules(shelf, ends)
    return KernelKnowledge(rules, over, Anchors(anchors, database))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield from where to where each table stands."""
    starts = []
    at = 0
    for line in text.splitlines(keepends=True):
        if line.strip() == TABLE:
            starts.append(at)
        at += len(line)
    yield from zip(starts, [*starts[1:], len(text)], strict=False)


def _id(file: RuleFile, span: tuple[int, int]) -> object:
    try:
        tables = read(file.name, file.text[slice(*span)])
    except RuleError:
        return None
    return tables[0].get("id") if len(tables) == 1 else None


def _rule(file: RuleFile, table: dict[str, Any]) -> Rule:
    said = table.get("source", "kernel" if file.of_kernel else "training")
    return made(file.name, table, KernelRule if said == "kernel" else Rule)
