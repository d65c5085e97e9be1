"""Liquid cooling: no leak, cold enough, enough of it."""

from collections.abc import Iterator

from collectors.bmc.sensors import BmcSensors, Sensor
from collectors.facts.observation import Cause, Missing
from diagnostics.check import check
from diagnostics.checks.bmc.reading import (
    LOWER,
    NO_BMC,
    UPPER,
    blind,
    evidence,
    limit,
    read,
    subject,
    worst,
)
from diagnostics.finding import Finding, NotApplicable, Statement, Unseen, Well, found

# Generic event/reading types (IPMI 2.0, table 42-2), and the offsets that mean trouble.
# 03h: state asserted; 05h: limit exceeded; 07h: transitions to less to more severe states.
WET = {0x03: {1}, 0x05: {1}, 0x07: {1, 2, 3, 4, 5, 6}}


@check(
    "bmc.coolant",
    stage="driver",
    faults=("coolant_leak_detected", "coolant_temperature_high", "coolant_flow_low"),
    proved="recorded",
)
def coolant(seen: BmcSensors) -> Iterator[Statement]:
    """No leak is reported, and coolant is cold enough and flows.

    Cold plates heat up within seconds once flow is lost, and liquid beside live boards destroys
    them: people must know within minutes.
    """
    leaks, temperatures = seen.of("leak"), seen.of("coolant_temperature")
    flows = seen.of("coolant_flow")
    if not (leaks or temperatures or flows):
        yield NotApplicable(why="the BMC lists no coolant sensor" if seen.present else NO_BMC)
        return
    findings = [f for sensor in leaks if (f := _leak(sensor))]
    findings += [f for sensor in temperatures if (f := _warm(sensor))]
    findings += [f for sensor in flows if (f := _slow(sensor))]
    yield from findings
    yield from _not_understood(leaks)
    for sensors in (leaks, temperatures, flows):
        yield from blind(sensors)
    if not findings and (good := read((*leaks, *temperatures, *flows))):
        yield Well(message="coolant in order: " + ", ".join(map(_shown, good)))


def _leak(sensor: Sensor) -> Finding | None:
    wet = WET.get(sensor.event or 0, set()) & set(sensor.states) or worst(sensor, UPPER)
    if sensor.silent is not None or not wet:
        return None
    return found(
        "coolant_leak_detected",
        "critical",
        subject(sensor),
        "the BMC's sensor {sensor} reports a leak",
        evidence(sensor),
        sensor=sensor.name,
    )


def _warm(sensor: Sensor) -> Finding | None:
    past = worst(sensor, UPPER)
    if past is None:
        return None
    return found(
        "coolant_temperature_high",
        past[1],
        subject(sensor),
        "coolant is at {value} {unit}: the BMC reports {sensor} past its {limit}",
        evidence(sensor),
        value=f"{sensor.value:g}",
        unit=sensor.unit,
        sensor=sensor.name,
        limit=limit(sensor, past[0]),
    )


def _slow(sensor: Sensor) -> Finding | None:
    past = worst(sensor, LOWER)
    if past is None:
        return None
    return found(
        "coolant_flow_low",
        past[1],
        subject(sensor),
        "{sensor} is at {value} {unit}: the BMC reports it below its {limit}",
        evidence(sensor),
        sensor=sensor.name,
        value=f"{sensor.value:g}",
        unit=sensor.unit,
        limit=limit(sensor, past[0]),
    )


def _not_understood(leaks: tuple[Sensor, ...]) -> Iterator[Unseen]:
    """Yield leak sensors whose states are the maker's own: nobody says which of them is wet."""
    for sensor in read(leaks):
        if sensor.event is not None and sensor.event not in WET and sensor.states:
            detail = (
                f"states {list(sensor.states)} of event type {sensor.event:#04x} are the maker's"
            )
            missing = Missing(what=f"BMC sensor {sensor.name}", cause=Cause.GARBLED, detail=detail)
            yield Unseen(missing=missing, subject=subject(sensor))


def _shown(sensor: Sensor) -> str:
    return sensor.name if sensor.value is None else f"{sensor.name} {sensor.value:g} {sensor.unit}"
