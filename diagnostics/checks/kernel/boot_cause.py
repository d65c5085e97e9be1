"""What ended a boot that nobody ended: panic, power, heat, a watchdog, or nothing that is known."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from collectors.bmc.events import BmcEvents, Entry
from collectors.facts.observation import Missing
from collectors.kernel.last_boot import BootEnd, LastBoot
from diagnostics.checks.bmc.events import harm
from diagnostics.finding import Evidence

# The journal loses its last seconds; a panic is written down at the next start, the BMC's clock is
# minutes off at worst.
BEFORE_S, AFTER_S = 300.0, 1800.0
# Sensor types of IPMI 2.0, table 42-3: temperature, processor, supply, power unit, watchdog.
HEAT, PROCESSOR, SUPPLY, UNIT, WATCHDOG = 0x01, 0x07, 0x08, 0x09, 0x23
TRIP = 0x01
# thermal thermal_zone0: acpitz: critical temperature reached, shutting down
HOT = re.compile(r"critical temperature reached", re.IGNORECASE)
# mce: [Hardware Error]: Machine check events logged      {3}[Hardware Error]: event severity: fatal
MACHINE = re.compile(r"\[Hardware Error\]|Machine check:|mce: .{0,40}CPU \d+: Machine Check")


class BootCause(NamedTuple):
    """The kind of end, how sure it is, and the sentence that goes after "nothing announces it"."""

    kind: str
    confidence: float
    why: str
    evidence: tuple[Evidence, ...] = ()


def boot_cause(seen: LastBoot, end: BootEnd, log: BmcEvents | Missing) -> BootCause:
    """Return what ended the boot: by a panic's text, else the BMC's word, else the last lines."""
    for crash in seen.crashes:
        if _near(crash.time, end):
            return BootCause("panic", 0.95, "the kernel panicked")
    if (told := next(_by_bmc(end, log), None)) is not None:
        return told
    for line in reversed(end.kernel):
        if HOT.search(line):
            return BootCause("heat", 0.8, "its last lines tell of a critical temperature")
        if MACHINE.search(line):
            return BootCause("machine_check", 0.8, "its last lines tell of a hardware error")
    if isinstance(log, Missing) or not log.present:
        return BootCause("unknown", 0.9, "no panic is kept, and no BMC could be asked why")
    return BootCause("unknown", 0.9, "no panic is kept, and the BMC logged no power loss or heat")


def _by_bmc(end: BootEnd, log: BmcEvents | Missing) -> Iterator[BootCause]:
    if isinstance(log, Missing):
        return
    for entry in reversed(log.entries):
        what = harm(entry)
        if what is None or entry.time is None or not _near(entry.time, end):
            continue
        kind = _kind(entry)
        if kind is not None:
            name = entry.name or "a sensor"
            told = Evidence(source="ipmitool sel", time=entry.time, values={"id": entry.id})
            yield BootCause(kind, 0.9, f"the BMC logged for {name}: {what}", (told,))


def _kind(entry: Entry) -> str | None:
    if entry.sensor_type in (SUPPLY, UNIT):
        return "power"
    if entry.sensor_type == HEAT or (entry.sensor_type, entry.offset) == (PROCESSOR, TRIP):
        return "heat"
    if entry.sensor_type == WATCHDOG:
        return "bmc_reset"
    return None


def _near(time: float, end: BootEnd) -> bool:
    return -BEFORE_S <= time - end.time <= AFTER_S
