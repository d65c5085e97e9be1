"""What the BMC wrote into its own log in the last day."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from collectors.bmc.events import BmcEvents, Entry
from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from diagnostics.check import check
from diagnostics.checks.bmc.reading import NO_BMC
from diagnostics.finding import (
    Evidence,
    Finding,
    NotApplicable,
    Severity,
    Statement,
    Unseen,
    Well,
    found,
)

BMC = Subject(kind="bmc", name="bmc")
SPECIFIC, THRESHOLD, REDUNDANCY = 0x6F, 0x01, 0x0B
TEMPERATURE, SUPPLY = 0x01, 0x08
MOST_TOLD = 16

# Sensor type and offset, sensor-specific (IPMI 2.0, table 42-3).
HARM = {
    (0x07, 0x00): "processor internal error (IERR)",
    (0x07, 0x01): "processor thermal trip",
    (0x08, 0x01): "power supply failure",
    (0x08, 0x03): "power supply input lost",
    (0x08, 0x04): "power supply input lost or out of range",
    (0x09, 0x04): "AC power lost",
    (0x09, 0x05): "soft power control failure",
    (0x09, 0x06): "power unit failure",
    (0x0C, 0x01): "uncorrectable memory error",
    (0x13, 0x05): "PCI system error (SERR)",
    (0x13, 0x08): "bus uncorrectable error",
    (0x13, 0x0A): "bus fatal error",
    (0x20, 0x01): "the operating system stopped while it ran",
    (0x23, 0x01): "watchdog reset the node",
    (0x23, 0x02): "watchdog switched the node off",
    (0x23, 0x03): "watchdog switched the node off and on",
}
# Offsets of a threshold sensor: upper non-recoverable, upper critical, both going high.
HOT = {0x0B: "past its upper non-recoverable threshold", 0x09: "past its upper critical threshold"}
# Sensor type of supplies and power units, event/reading type 0Bh, offset 1.
LOST = "power redundancy lost"
POWER = (0x08, 0x09)


class Told(NamedTuple):
    """The entries of one kind from one sensor; `ended` where the BMC took the last one back."""

    what: str
    entries: tuple[Entry, ...]
    ended: bool


@check("bmc.events", stage="driver", faults=("bmc_event",), proved="real-tool")
def events(seen: BmcEvents) -> Iterator[Statement]:
    """No event of the last 24 h in the BMC's own log is of a kind that harms a node.

    Its log survives a crash of the host: it is often the only witness of a thermal trip, a lost
    supply or a watchdog's reset. What has ended since, or has no time, is a note.
    """
    if not seen.present:
        yield NotApplicable(why=NO_BMC)
        return
    findings = [_event(told) for told in _told(seen.entries)[:MOST_TOLD]]
    yield from findings
    if seen.declined:
        yield _declined(seen)
    if seen.full:
        yield found(
            "bmc_event",
            "info",
            BMC,
            "the BMC's event log is full with {total} entries: new events are not kept",
            Evidence(source="ipmitool raw 0x0a 0x40", values={"total": seen.total}),
            variant="full",
            total=seen.total,
        )
    elif not findings and not seen.declined:
        many = f"{len(seen.entries)} entries" if seen.entries else "no entry"
        yield Well(message=f"{many} of the last 24 h in the event log, none of harm")


def _declined(seen: BmcEvents) -> Unseen:
    """Return that some entries are not known: a harmful one may be among them."""
    rest = ", and older ones were not asked for" if seen.truncated else ""
    detail = f"the BMC declined {seen.declined} entries of its event log{rest}"
    return Unseen(missing=Missing(what="BmcEvents", cause=Cause.CRASHED, detail=detail))


def harm(entry: Entry) -> str | None:
    """Return in words what an entry says has happened, where that harms a node."""
    if entry.sensor_type is None or entry.event is None or entry.offset is None:
        return None
    if entry.event == SPECIFIC:
        return HARM.get((entry.sensor_type, entry.offset))
    if entry.event == THRESHOLD and entry.sensor_type == TEMPERATURE:
        return HOT.get(entry.offset)
    lost = entry.event == REDUNDANCY and entry.sensor_type in POWER and entry.offset == 1
    return LOST if lost else None


def _told(entries: Sequence[Entry]) -> list[Told]:
    """Return the harmful kinds, the one with the newest entry first."""
    groups: dict[tuple[int | None, str], list[Entry]] = {}
    for entry in entries:
        if (what := harm(entry)) is not None:
            groups.setdefault((entry.sensor, what), []).append(entry)
    told = []
    for (_, what), group in reversed(groups.items()):
        if asserted := tuple(entry for entry in group if entry.asserted):
            told.append(Told(what, asserted, ended=not group[-1].asserted))
    return told


def _event(told: Told) -> Finding:
    last = told.entries[-1]
    timed = [entry.time for entry in told.entries if entry.time is not None]
    name = last.name or f"{last.sensor:#04x}"
    severity: Severity = "info" if told.ended or not timed else "warning"
    end = ", ended since" if told.ended else ""
    when = "" if timed else ", at a time that the BMC did not know"
    return found(
        "bmc_event",
        severity,
        Subject(kind="psu" if last.sensor_type == SUPPLY else "sensor", name=name),
        "the BMC logged for {sensor}: {what}{end}{when}",
        *(_evidence(entry) for entry in told.entries[-3:]),
        kind="event",
        variant="" if severity == "warning" else "note",
        count=len(told.entries),
        first_seen=min(timed, default=None),
        last_seen=max(timed, default=None),
        sensor=name,
        what=told.what,
        end=end,
        when=when,
    )


def _evidence(entry: Entry) -> Evidence:
    number = f"{entry.id & 0xFF:#04x} {entry.id >> 8:#04x}"
    return Evidence(
        source=f"ipmitool raw 0x0a 0x43 0 0 {number} 0 0xff",
        time=entry.time,
        values={
            "id": entry.id,
            "sensor_type": entry.sensor_type,
            "event": entry.event,
            "offset": entry.offset,
            "data": list(entry.data),
        },
    )
