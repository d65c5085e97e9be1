"""Why it is hot, by the BMC's word: load, inlet, fan or coolant; and how far that word goes."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from collectors.bmc.sensors import BmcSensors, Kind, Sensor
from collectors.facts.observation import Cause, Missing
from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.checks.bmc.reading import LOWER, UPPER, read, worst
from remediations.heat.throttle import COOL_C, Bmc

Name = Literal["coolant", "inlet", "fan", "load", "unknown"]
THERMAL: tuple[Kind, ...] = ("inlet", "gpu", "coolant_temperature")
# Below the first of its upper thresholds by so much, a sensor is cool.
BELOW_C = COOL_C
# Two sensors are the least that can agree.
AGREE = 2
# Read once a minute: what is older than three is no reading of now.
OLD_S = 180.0
# The BMC measures beside the die or at its memory, 10 to 20 C off; further off, one of both lies.
APART_C = 30.0
# A BMC that could be asked and gave nothing; without the tool or the right, nobody counts on it.
FELL_SILENT = (Cause.TIMEOUT, Cause.CRASHED, Cause.GARBLED, Cause.STALE)
# Offsets of sensor type 08h: failure, input lost, input lost or out of range.
DEAD = frozenset({1, 3, 4})
BRAKE = 0x80
# A GPU that draws so much of its limit is at work.
LOADED = 0.8


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One cause, and the sentence that tells it to a person."""

    name: Name
    says: str


def joined(ipmi: BmcSensors | Missing, redfish: BmcSensors | None) -> BmcSensors | Missing:
    """Return what IPMI tells, and of the kinds of which it tells nothing what Redfish does.

    One sensor that is read both ways may not count as two that agree.
    """
    if redfish is None:
        return ipmi
    if isinstance(ipmi, Missing) or not ipmi.present or ipmi.age_s > OLD_S:
        return redfish
    if redfish.age_s > OLD_S:
        return ipmi
    told = {sensor.kind for sensor in read(ipmi.sensors)}
    more = (sensor for sensor in redfish.sensors if sensor.kind not in told)
    return msgspec.structs.replace(ipmi, sensors=(*ipmi.sensors, *more))


def word(seen: BmcSensors | Missing, health: GpuHealth | Missing) -> Bmc:
    """Return what the BMC's temperatures say together."""
    if isinstance(seen, Missing):
        return "silent" if seen.cause in FELL_SILENT else "none"
    sensors = [sensor for kind in THERMAL for sensor in seen.of(kind)]
    if not seen.present or not sensors:
        return "none"
    good = [sensor for sensor in read(sensors) if sensor.value is not None]
    if seen.age_s > OLD_S or not good:
        return "lying" if any(_jumped(sensor) for sensor in sensors) else "silent"
    return "lying" if _contradicted(good, health) else _agreed(good)


def _agreed(good: Sequence[Sensor]) -> Bmc:
    if len(good) < AGREE:
        return "single"
    if sum(worst(sensor, UPPER) is not None for sensor in good) >= AGREE:
        return "hot"
    return "cool" if all(map(_cool, good)) else "warm"


def _jumped(sensor: Sensor) -> bool:
    return sensor.silent is not None and sensor.silent.startswith("it jumped")


def _contradicted(good: Iterable[Sensor], health: GpuHealth | Missing) -> bool:
    """Return whether the BMC's warmest GPU is far from the driver's warmest."""
    gpus = () if isinstance(health, Missing) else tuple(health.answering())
    drivers = [gpu.heat.gpu_c for gpu in gpus if gpu.heat.gpu_c is not None]
    theirs = [sensor.value for sensor in good if sensor.kind == "gpu" and sensor.value is not None]
    return bool(drivers and theirs) and abs(max(drivers) - max(theirs)) > APART_C


def _cool(sensor: Sensor) -> bool:
    bounds = [held for name, held in sensor.thresholds.items() if name in UPPER]
    if not bounds or sensor.value is None:
        return worst(sensor, UPPER) is None
    return sensor.value <= min(bounds) - BELOW_C


def supply_lost(seen: BmcSensors | Missing) -> bool:
    """Return whether a power supply is dead: then low clocks are no heat."""
    supplies = () if isinstance(seen, Missing) else read(seen.of("psu"))
    return any(DEAD & set(sensor.states) for sensor in supplies)


def braked(gpu: GpuReading) -> bool:
    """Return whether the chassis brakes this GPU."""
    return bool((gpu.clocks.reasons or 0) & BRAKE)


def reasons(seen: BmcSensors | Missing, health: GpuHealth | Missing) -> tuple[Reason, ...]:
    """Return the causes, the one that explains the others first; at least one is named."""
    if isinstance(seen, Missing) or not seen.present:
        why = seen.why() if isinstance(seen, Missing) else "this node has no BMC"
        return (*_load(health), Reason(name="unknown", says=f"no sensor can tell the cause: {why}"))
    found = (*_coolant(seen), *_inlet(seen), *_fan(seen)) or _load(health)
    return found or (Reason(name="unknown", says="no sensor of the BMC tells the cause"),)


def _coolant(seen: BmcSensors) -> tuple[Reason, ...]:
    bad = [s for s in seen.of("coolant_temperature") if worst(s, UPPER)]
    bad += [s for s in seen.of("coolant_flow") if worst(s, LOWER)]
    return _told("coolant", "the coolant is too warm or too little", bad)


def _inlet(seen: BmcSensors) -> tuple[Reason, ...]:
    bad = [s for s in seen.of("inlet") if worst(s, UPPER)]
    return _told("inlet", "the air that comes in is too warm, which is the room's matter", bad)


def _fan(seen: BmcSensors) -> tuple[Reason, ...]:
    fans = read(seen.of("fan"))
    turning = any(s.value for s in fans)
    bad = [s for s in fans if worst(s, LOWER) or (turning and s.value == 0 and s.thresholds)]
    return _told("fan", "a fan is too slow", bad)


def _told(what: Name, says: str, bad: Sequence[Sensor]) -> tuple[Reason, ...]:
    if not bad:
        return ()
    values = ", ".join(f"{s.name} {s.value or 0:g} {s.unit}".rstrip() for s in bad[:4])
    return (Reason(name=what, says=f"{says} ({values})"),)


def _load(health: GpuHealth | Missing) -> tuple[Reason, ...]:
    gpus = () if isinstance(health, Missing) else tuple(health.answering())
    at_work = [gpu for gpu in gpus if _loaded(gpu)]
    if not at_work:
        return ()
    some = f"{len(at_work)} of {len(gpus)} GPUs draw all that they may"
    return (Reason(name="load", says=f"the load: {some}, and no sensor is out of its range"),)


def _loaded(gpu: GpuReading) -> bool:
    draw, limit = gpu.power.draw_mw, gpu.power.limit_mw
    return draw is not None and limit is not None and draw >= LOADED * limit
