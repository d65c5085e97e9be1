"""What ended a boot that nobody ended: panic, power, heat, a watchdog, or nothing that is known."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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


ABRUPT = "{ago} ago the boot before this one ended in the middle: nothing announces a shutdown; "
# The whole sentence, by its variant.
ENDED: Mapping[str, str] = {
    "panic": f"{ABRUPT}the kernel panicked",
    "bmc": f"{ABRUPT}the BMC logged for {{name}}: {{what}}",
    "heat": f"{ABRUPT}its last lines tell of a critical temperature",
    "machine_check": f"{ABRUPT}its last lines tell of a hardware error",
    "no_bmc": f"{ABRUPT}no panic is kept, and no BMC could be asked why",
    "unknown": f"{ABRUPT}no panic is kept, and the BMC logged no power loss or heat",
}


class BootCause(NamedTuple):
    """The kind of end, how sure it is, and which sentence of ENDED says it, with what fills it."""

    kind: str
    confidence: float
    variant: str
    args: Mapping[str, Any] = {}
    evidence: tuple[Evidence, ...] = ()


def boot_cause(seen: LastBoot, end: BootEnd, log: BmcEvents | Missing) -> BootCause:
    """Return what ended the boot: by a panic's text, else the BMC's word, else the last lines."""
    for crash in seen.crashes:
        if _near(crash.time, end):
            return BootCause("panic", 0.95, "panic")
    if (told := next(_by_bmc(end, log), None)) is not None:
        return told
    for line in reversed(end.kernel):
        if HOT.search(line):
            return BootCause("heat", 0.8, "heat")
        if MACHINE.search(line):
            return BootCause("machine_check", 0.8, "machine_check")
    if isinstance(log, Missing) or not log.present:
        return BootCause("unknown", 0.9, "no_bmc")
    return BootCause("unknown", 0.9, "unknown")


def _by_bmc(end: BootEnd, log: BmcEvents | Missing) -> Iterator[BootCause]:
    if isinstance(log, Missing):
        return
    for entry in reversed(log.entries):
        what = harm(entry)
        if what is None or entry.time is None or not _near(entry.time, end):
            continue
        kind = _kind(entry)
        if kind is not None:
            args = {"name": entry.name or "a sensor", "what": what}
            told = Evidence(source="ipmitool sel", time=entry.time, values={"id": entry.id})
            yield BootCause(kind, 0.9, "bmc", args, (told,))


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
