"""Symptoms in the kernel log: the rules of `data/kernel_*.toml` over the records of one boot."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from collectors.facts import pci
from collectors.facts.kernel_log import KernelLog, Record
from diagnostics.expression import Expression
from diagnostics.rules.anchors import Anchors
from diagnostics.rules.kernel_fold import MOST_HITS, QUOTED, Fold, Key
from diagnostics.rules.kernel_seen import Card, KernelHit, KernelRule, KernelSymptoms, Moment
from diagnostics.rules.rule import KERNEL, families, shipped

__all__ = [
    "MOST_HITS",
    "QUOTED",
    "Card",
    "Fold",
    "KernelHit",
    "KernelKnowledge",
    "KernelRule",
    "KernelSymptoms",
    "Key",
    "Moment",
    "Search",
    "cards",
    "joined",
    "load",
]

# A GPU that was dead before the driver came; one record, or three where the log is split by lines:
# NVRM: The NVIDIA GPU 0000:b3:00.0
# NVRM: (PCI ID: 10de:2330) installed in this system has
# NVRM: fallen off the bus and is not responding to commands.
OPENING = Expression(r"NVRM: The NVIDIA GPU [0-9a-fA-F:.]{7,16}")
PIECES = 3

# NVRM: GPU at PCI:0000:4e:00: GPU-3f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b30
# NVRM: GPU Board Serial Number: 1653023000117
UUID = Expression(r"NVRM: GPU at PCI:(?P<gpu>[0-9a-fA-F:.]{7,16}): (?P<uuid>GPU-[0-9a-f-]{36})")
SERIAL = Expression(r"NVRM: GPU Board Serial Number: (?P<serial>\w{1,32})")


class KernelKnowledge:
    """The rules with their compiled anchors; made once, used for any number of logs.

    *ends* and *anchors* are given where they are known without reading the rules.
    """

    def __init__(
        self,
        rules: Sequence[KernelRule],
        ends: Sequence[KernelRule] | None = None,
        anchors: Anchors | None = None,
    ) -> None:
        self.rules = rules
        self.ends = tuple(rule for rule in rules if rule.over) if ends is None else ends
        if anchors is None:
            over = (end.over_anchor for end in self.ends)
            anchors = Anchors([*(rule.anchor for rule in rules), *over])
        self.anchors = anchors


def load() -> tuple[KernelRule, ...]:
    """Return the shipped rules for the kernel log."""
    named = (family for family in families() if family.startswith(KERNEL))
    return tuple(rule for family in named for rule in shipped(family, KernelRule))


class Search:
    """One log being searched: feed it records in their order, then take what was seen."""

    def __init__(self, log: KernelLog, known: KernelKnowledge) -> None:
        self._log = log
        self._known = known
        self._fold = Fold(log)
        self._cards = Cards()

    def later(self, log: KernelLog) -> None:
        """Go on with a later reading of the log, whose new records are then fed."""
        self._log = log
        self._fold.later(log)

    def feed(self, records: Sequence[Record]) -> None:
        """Search some records."""
        self._cards.feed(records)
        known = self._known
        piece = "\n".join(record.text for record in records).encode("utf-8", "backslashreplace")
        at = line = 0
        for found in known.anchors.lines(piece):
            line += piece.count(b"\n", at, found.start)
            at = found.start
            for anchor in found.anchors:
                if anchor < len(known.rules):
                    self._fold.add(known.rules[anchor], records[line])
                else:
                    self._fold.end(known.ends[anchor - len(known.rules)], records[line])

    def seen(self) -> KernelSymptoms:
        """Return what was found so far."""
        return KernelSymptoms(
            records=len(self._log.records),
            lost=self._log.lost,
            source=self._log.source,
            hits=self._fold.hits(),
            cards=self._cards.known.copy(),
        )


def whole(records: Sequence[Record]) -> int:
    """Return how many records are whole sentences: a last one may still get its other pieces."""
    for behind, record in enumerate(reversed(records[-PIECES + 1 :]), start=1):
        if record.facility == 0 and OPENING.fullmatch(record.text):
            return len(records) - behind
    return len(records)


def joined(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records, those that are pieces of one sentence as one."""
    open_: Record | None = None
    left = 0
    for record in records:
        follows = left > 0 and record.text.startswith("NVRM: ") and record.facility == 0
        if open_ is not None and follows:
            open_ = msgspec.structs.replace(open_, text=f"{open_.text} {record.text}")
            left -= 1
            continue
        if open_ is not None:
            yield open_
        open_, left = None, 0
        if record.facility == 0 and OPENING.fullmatch(record.text):
            open_, left = record, PIECES - 1
        else:
            yield record
    if open_ is not None:
        yield open_


def cards(log: KernelLog) -> dict[str, Card]:
    """Return UUID and serial number by PCI address: the driver prints them before a first Xid."""
    found = Cards()
    found.feed(log.records)
    return found.known


class Cards:
    """The cards that the records so far tell of, by PCI address."""

    def __init__(self) -> None:
        self.known: dict[str, Card] = {}
        self._last: str | None = None

    def feed(self, records: Iterable[Record]) -> None:
        """Take the kernel's own records."""
        for record in records:
            if record.facility != 0 or not record.text.startswith("NVRM: GPU "):
                continue
            if hit := UUID.match(record.text):
                self._last = pci.function(hit["gpu"])
                self.known[self._last] = Card(uuid=hit["uuid"])
            elif self._last and (hit := SERIAL.match(record.text)):
                card = msgspec.structs.replace(self.known[self._last], serial=hit["serial"])
                self.known[self._last] = card
                self._last = None
