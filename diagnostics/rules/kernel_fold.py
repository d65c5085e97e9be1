"""The hits of one kernel log: what repeats is counted, what is over is noted, codes are weighed."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from collectors.facts import pci
from collectors.facts.kernel_log import KernelLog, Record
from diagnostics.knowledge.codes import events
from diagnostics.knowledge.codes.events import Event
from diagnostics.knowledge.codes.tables import sxids, xids
from diagnostics.rules.kernel_seen import KernelHit, KernelRule, Moment
from diagnostics.rules.rule import About
from diagnostics.rules.window import Window

MOST_HITS = 1_000
QUOTED = 2_000
# A Blackwell GPU has 18 NVLinks, an NVSwitch 72 ports.
MOST_LINKS = 72

# The driver in front of a PCI device's own lines says what the device is.
KIND_OF_DRIVER: Mapping[str, About] = {
    "nvidia": "gpu",
    "mlx5_core": "nic",
    "nvme": "disk",
}
ADDRESSES = frozenset({"gpu", "nic", "device"})

# Rule, fault, whether the kernel wrote it, name, and what tells sub-events apart.
Key = tuple[str, str, bool, str | None, str]


class Fold:
    """The hits of one log by rule, fault, writer, name and sub-event; what repeats is counted."""

    def __init__(self, log: KernelLog) -> None:
        self._log = log
        self._hits: dict[Key, KernelHit] = {}
        self._windows: dict[Key, Window] = {}

    def later(self, log: KernelLog) -> None:
        """Go on with a later reading of the same log: what was found has grown older since."""
        begin = Record(sequence=0, boot_s=0.0, level=0, facility=0, text="")
        passed = log.age_s(begin) - self._log.age_s(begin)
        self._log = log
        for key, hit in self._hits.items():
            first, last = _older(hit.first, passed), _older(hit.last, passed)
            self._hits[key] = msgspec.structs.replace(hit, first=first, last=last)

    def add(self, rule: KernelRule, record: Record) -> Key | None:
        """Take the record if the rule holds for it, and return what it counts for."""
        match = rule.match(record.text)
        if match is None:
            return None
        values = _addressed(rule.values(match))
        event = weighed(rule, match, values)
        values |= event.values
        fault = event.fault or rule.fault.format(**values)
        told = "" if rule.latest else event.told
        key = (rule.id, fault, record.facility == 0, _name(rule, values), told)
        if key not in self._hits and len(self._hits) >= MOST_HITS:
            key = (rule.id, fault, record.facility == 0, None, "")
        moment = self._moment(record)
        hit = self._hits.get(key)
        if hit is None or rule.latest:
            new = _hit(rule, event, key, values, moment)
            count = 1 if hit is None else hit.count + 1
            self._hits[key] = msgspec.structs.replace(new, count=count)
        else:
            self._hits[key] = _again(hit, values, moment)
        if rule.window_s and (at := self._seconds(record)) is not None:
            window = self._windows.setdefault(key, Window(rule.window_s))
            window.add(at, amount(rule, values))
        return key

    def _seconds(self, record: Record) -> float | None:
        """Return when it was by a clock that all records share, None where they carry none."""
        return record.boot_s

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
        hits = [self._counted(key, hit) for key, hit in self._hits.items()]
        return tuple(sorted(hits, key=lambda hit: (hit.first.sequence, hit.rule)))

    def _counted(self, key: Key, hit: KernelHit) -> KernelHit:
        window = self._windows.get(key)
        return hit if window is None else msgspec.structs.replace(hit, peak=window.most)


def amount(rule: KernelRule, values: Mapping[str, Any]) -> int:
    """Return for how much a record counts."""
    said = values.get(rule.adds)
    return said if isinstance(said, int) else 1


def _older(moment: Moment, passed_s: float) -> Moment:
    return msgspec.structs.replace(moment, age_s=round(max(moment.age_s + passed_s, 0.0), 3))


def _addressed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with addresses as sysfs writes them, and as the line does: for a search."""
    written = {n: v for n, v in values.items() if n in ADDRESSES and isinstance(v, str)}
    plain = {name: pci.function(value) for name, value in written.items()}
    other = next((v for name, v in written.items() if v != plain[name]), None)
    return {**values, **plain, **({} if other is None else {"as_written": other})}


def _name(rule: KernelRule, values: Mapping[str, Any]) -> str | None:
    """Return the name that the fields make, None where one of them is absent."""
    try:
        return rule.named.format(**values) or None
    except KeyError:
        return None


def _again(hit: KernelHit, values: Mapping[str, Any], moment: Moment) -> KernelHit:
    """Return the hit with one more record; the links that its records name are kept."""
    links = hit.values.get("links", (hit.values.get("link"),))
    link = values.get("link")
    if link is not None and link not in links and len(links) < MOST_LINKS:
        kept = {**hit.values, "links": (*links, link)}
        hit = msgspec.structs.replace(hit, values=kept)
    return msgspec.structs.replace(hit, last=moment, count=hit.count + 1, over=False)


def weighed(rule: KernelRule, match: re.Match[str], found: Mapping[str, Any]) -> Event:
    """Return what the tables make of a line, or the rule's own weight where it has no code."""
    code = found.get(rule.codes) if rule.codes else None
    if not isinstance(code, int):
        return Event(severity=rule.severity, note=rule.note)
    text = match.string[match.end(rule.codes) :]
    event = (events.sxid if rule.codes == "sxid" else events.xid)(code, text)
    known = (sxids() if rule.codes == "sxid" else xids()).get(code)
    told = f"{code}.{event.told}"
    if known is None:
        return msgspec.structs.replace(event, told=told)
    values = {**event.values, "means": known.meaning}
    return msgspec.structs.replace(event, told=told, values=values)


def _hit(
    rule: KernelRule, event: Event, key: Key, values: Mapping[str, Any], moment: Moment
) -> KernelHit:
    about = rule.about
    if about == "device":
        about = KIND_OF_DRIVER.get(str(values.get("driver")), "node")
    # A fault with a name has a sentence of its own; a code has its meaning.
    bare = "means" in values and ("{" in rule.fault or rule.codes == "sxid")
    return KernelHit(
        rule=rule.id,
        fault=key[1],
        severity=event.severity,
        kind=rule.kind,
        about=about if key[3] is not None else "node",
        name=key[3],
        template=f"{rule.message}: {{means}}" if bare else rule.message,
        values=values,
        by_kernel=key[2],
        first=moment,
        last=moment,
        note=event.note,
        follows=rule.follows,
        recovery=event.recovery,
        window_s=rule.window_s,
        remedy=rule.remedy,
    )
