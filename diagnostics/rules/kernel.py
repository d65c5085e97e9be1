"""Symptoms in the kernel log: the rules of `data/kernel_*.toml` over the records of one boot."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from collectors.facts import pci
from collectors.facts.kernel_log import KernelLog, LogSource, Record
from collectors.facts.observation import Observation
from diagnostics.finding import Kind, Severity
from diagnostics.rules.anchors import Anchors
from diagnostics.rules.rule import KERNEL, About, Rule, Source, families, shipped

MOST_HITS = 1_000
QUOTED = 2_000

# The driver in front of a PCI device's own lines says what the device is.
KIND_OF_DRIVER: Mapping[str, About] = {
    "nvidia": "gpu",
    "mlx5_core": "nic",
    "nvme": "disk",
}
ADDRESSES = frozenset({"gpu", "nic", "device"})

# A GPU that was dead before the driver came; one record, or three where the log is split by lines:
# NVRM: The NVIDIA GPU 0000:b3:00.0
# NVRM: (PCI ID: 10de:2330) installed in this system has
# NVRM: fallen off the bus and is not responding to commands.
OPENING = re.compile(r"NVRM: The NVIDIA GPU [0-9a-fA-F:.]{7,16}")
PIECES = 3

# NVRM: GPU at PCI:0000:4e:00: GPU-3f1c9a52-7d1e-4b0a-9c56-2e8d4f6a1b30
# NVRM: GPU Board Serial Number: 1653023000117
UUID = re.compile(r"NVRM: GPU at PCI:(?P<gpu>[0-9a-fA-F:.]{7,16}): (?P<uuid>GPU-[0-9a-f-]{36})")
SERIAL = re.compile(r"NVRM: GPU Board Serial Number: (?P<serial>\w{1,32})")


class KernelRule(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """A rule for the kernel's lines; a `device` is what the field `driver` says.

    `fault` is filled with fields too.
    """

    source: Source = "kernel"


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One record: how long ago it was, and its wall clock where that is known."""

    sequence: int
    age_s: float
    text: str
    time: float | None = None
    time_error_s: float | None = None


class KernelHit(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule found of one thing: its first and last record, and how many there were.

    `by_kernel` is False where a program wrote the records; `over` where a later one ended it.
    `template` is the rule's message for `values`, which are those of the first record.
    """

    rule: str
    fault: str
    severity: Severity
    kind: Kind
    about: About
    name: str | None = None
    template: str
    values: Mapping[str, Any] = {}
    by_kernel: bool = True
    count: int = 1
    first: Moment
    last: Moment
    over: bool = False


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """Who a GPU is by the kernel's own word, which is all there is when the driver is dead."""

    uuid: str | None = None
    serial: str | None = None


class KernelSymptoms(Observation, frozen=True, kw_only=True):
    """What the rules found in this boot's log, which had `records` and lacked `lost` of them."""

    records: int
    lost: int = 0
    source: LogSource = "kmsg"
    hits: tuple[KernelHit, ...] = ()
    cards: Mapping[str, Card] = {}


class KernelKnowledge:
    """The rules with their compiled anchors; made once, used for any number of logs."""

    def __init__(self, rules: Iterable[KernelRule]) -> None:
        self.rules = tuple(rules)
        self.ends = tuple(rule for rule in self.rules if rule.over)
        anchors = [*(rule.anchor for rule in self.rules), *(end.over_anchor for end in self.ends)]
        self.anchors = Anchors(anchors)


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

    def feed(self, records: Sequence[Record]) -> None:
        """Search some records."""
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
            cards=cards(self._log),
        )


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
    known: dict[str, Card] = {}
    last: str | None = None
    for record in log.by_kernel():
        if hit := UUID.match(record.text):
            last = pci.function(hit["gpu"])
            known[last] = Card(uuid=hit["uuid"])
        elif last and (hit := SERIAL.match(record.text)):
            known[last] = msgspec.structs.replace(known[last], serial=hit["serial"])
            last = None
    return known


Key = tuple[str, str, bool, str | None]


class Fold:
    """The hits of one log by rule, fault, writer and name; what repeats is counted."""

    def __init__(self, log: KernelLog) -> None:
        self._log = log
        self._hits: dict[Key, KernelHit] = {}

    def add(self, rule: KernelRule, record: Record) -> None:
        """Take the record if the rule holds for it."""
        match = rule.match(record.text)
        if match is None:
            return
        values = _addressed(rule.values(match))
        name = _name(rule, values)
        fault = rule.fault.format(**values)
        key = (rule.id, fault, record.facility == 0, name)
        if key not in self._hits and len(self._hits) >= MOST_HITS:
            key = (rule.id, fault, record.facility == 0, None)
        moment = self._moment(record)
        if (hit := self._hits.get(key)) is not None:
            count = hit.count + 1
            again = msgspec.structs.replace(hit, last=moment, count=count, over=False)
        else:
            again = _hit(rule, fault, key, values, moment)
        self._hits[key] = again

    def end(self, rule: KernelRule, record: Record) -> None:
        """Note that what the rule found before is over, if the record says so."""
        match = rule.compiled_over.search(record.text)
        if match is None:
            return
        named = _name(rule, _addressed(match.groupdict()))
        for key, hit in self._hits.items():
            # What the kernel said is not ended by what a program writes.
            said = hit.by_kernel <= (record.facility == 0)
            if key[0] == rule.id and said and named in (None, hit.name):
                self._hits[key] = msgspec.structs.replace(hit, over=True)

    def _moment(self, record: Record) -> Moment:
        return Moment(
            sequence=record.sequence,
            age_s=round(self._log.age_s(record), 3),
            text=record.text[:QUOTED],
            time=self._log.wall(record),
            time_error_s=self._log.wall_error_s(record),
        )

    def hits(self) -> tuple[KernelHit, ...]:
        """Return the hits in the order of their first records."""
        return tuple(sorted(self._hits.values(), key=lambda hit: (hit.first.sequence, hit.rule)))


def _addressed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: pci.function(value) if name in ADDRESSES and isinstance(value, str) else value
        for name, value in values.items()
    }


def _name(rule: KernelRule, values: Mapping[str, Any]) -> str | None:
    """Return the name that the fields make, None where one of them is absent."""
    try:
        return rule.named.format(**values) or None
    except KeyError:
        return None


def _hit(
    rule: KernelRule, fault: str, key: Key, values: Mapping[str, Any], moment: Moment
) -> KernelHit:
    about = rule.about
    if about == "device":
        about = KIND_OF_DRIVER.get(str(values.get("driver")), "node")
    return KernelHit(
        rule=rule.id,
        fault=fault,
        severity=rule.severity,
        kind=rule.kind,
        about=about if key[3] is not None else "node",
        name=key[3],
        template=rule.message,
        values=values,
        by_kernel=key[2],
        first=moment,
        last=moment,
    )
