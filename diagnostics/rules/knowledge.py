"""All rules that hold, with their compiled anchors: made once, used for any number of logs."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from diagnostics.finding import Severity
from diagnostics.rules import above, traceback
from diagnostics.rules.anchors import Anchors
from diagnostics.rules.kernel_seen import KernelRule
from diagnostics.rules.kernel_text import CARDS
from diagnostics.rules.rule import Rule
from diagnostics.series.lines import ANCHORS

MOST_PLANS = 10_000
# What is looked for beside the rules' anchors, in the order in which it is compiled.
OWN = (*CARDS, *above.ANCHORS, *traceback.ANCHORS, *ANCHORS)


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """What the search must know of a rule before a line hits it; no prose of it."""

    id: str
    severity: Severity
    source: Literal["kernel", "training", "tool", "any"]
    anchor: str
    over_anchor: str = ""


class Plan(msgspec.Struct, frozen=True):
    """What is done with a line that holds one set of anchors.

    Each of `words` is what one of `rules` needs. `repeats` is False where equal lines do not all
    count for the same; where a rule of `latest` holds, neither do they.
    """

    rules: tuple[Rule, ...] = ()
    ends: tuple[Rule, ...] = ()
    kernel: tuple[KernelRule, ...] = ()
    kernel_ends: tuple[KernelRule, ...] = ()
    numbers: bool = False
    card: bool = False
    above: bool = False
    traceback: bool = False
    searched: bool = True
    repeats: bool = True
    latest: tuple[KernelRule, ...] = ()
    words: tuple[bytes, ...] = ()


class Knowledge:
    """Rules and anchors; a rule is read when a line first holds its anchor.

    *database* is what `anchors.dumped` gave for the same entries.
    """

    def __init__(
        self, entries: Sequence[Entry], rule: Callable[[int], Rule], database: bytes | None = None
    ) -> None:
        self._entries = tuple(entries)
        self._rule = rule
        self._ends = tuple(n for n, entry in enumerate(entries) if entry.over_anchor)
        self._plans: dict[int, Plan] = {}
        self.anchors = Anchors(
            [
                *(entry.anchor for entry in entries),
                *(entries[n].over_anchor for n in self._ends),
                *OWN,
            ],
            database,
        )

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> "Knowledge":
        """Return the knowledge of rules that have been read."""
        return cls([entry(rule) for rule in rules], list(rules).__getitem__)

    def plan(self, held: int) -> Plan:
        """Return what is done with a line that holds this set of anchors."""
        plan = self._plans.get(held)
        if plan is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[held] = self._made(self.anchors.anchors(held))
        return plan

    def _made(self, places: Sequence[int]) -> Plan:
        entries, rules = self._entries, len(self._entries)
        ends = rules + len(self._ends)
        cards = ends + len(CARDS)
        heads = cards + len(above.ANCHORS)
        numbers = heads + len(traceback.ANCHORS)
        held = [n for n in places if n < rules]
        over = [self._ends[n - rules] for n in places if rules <= n < ends]
        card = any(ends <= n < cards for n in places)
        context = any(cards <= n < heads for n in places)
        head = any(heads <= n < numbers for n in places)
        kernel = self._kernel(held)
        numbered = any(n >= numbers for n in places)
        texts = tuple(self._rule(n) for n in held if entries[n].source != "kernel")
        return Plan(
            rules=texts,
            ends=tuple(self._rule(n) for n in over if entries[n].source != "kernel"),
            kernel=tuple(kernel),
            kernel_ends=tuple(self._kernel(over)),
            numbers=numbered,
            card=card,
            above=context,
            traceback=head,
            searched=bool(held or over or card or context or head),
            repeats=not (over or card or context or head or numbered),
            latest=tuple(rule for rule in kernel if rule.latest),
            words=tuple(rule.needed.encode() for rule in texts),
        )

    def _kernel(self, places: Sequence[int]) -> list[KernelRule]:
        rules = [self._rule(n) for n in places if self._entries[n].source == "kernel"]
        return [rule for rule in rules if isinstance(rule, KernelRule)]


def entry(rule: Rule) -> Entry:
    """Return what the search must know of a rule."""
    over_anchor = rule.over_anchor if rule.over else ""
    return Entry(rule.id, rule.severity, rule.source, rule.anchor, over_anchor)
