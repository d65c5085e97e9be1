"""Fans turn."""

import re
from collections.abc import Iterator, Sequence

from collectors.bmc.controller import Bmc
from collectors.bmc.sensors import BmcSensors, Sensor
from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from diagnostics.check import check
from diagnostics.checks.bmc.reading import (
    LOWER,
    NO_BMC,
    beside,
    blind,
    evidence,
    limit,
    read,
    subject,
    worst,
)
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

# A supply in cold redundancy stops its own fan.
OF_SUPPLY = re.compile(r"ps(u|_|-|\d|\b)|power", re.IGNORECASE)
# Below these a fan fails; past the non-critical one it is slow, as many are at rest.
FAILED = ("lnr", "lc")


@check("bmc.fans", stage="driver", faults=("fan_failed",), proved="real-tool")
def fans(seen: BmcSensors, bmc: Bmc | Missing) -> Iterator[Statement]:
    """Every fan turns faster than its own lower critical threshold.

    The others speed up for a dead one, until full load and warm air come together and the GPUs
    behind it throttle. A liquid-cooled node may have none.
    """
    sensors = seen.of("fan")
    if not sensors:
        yield NotApplicable(why="the BMC lists no fan" if seen.present else NO_BMC)
        return
    turning = any(sensor.value for sensor in read(sensors))
    findings = [f for sensor in sensors if (f := _fan(sensor, turning=turning))]
    yield from findings
    loud = any(finding.severity != "info" for finding in findings)
    if isinstance(bmc, Bmc) and bmc.cooling_fault and not loud:
        yield _chassis(len(sensors), seen.listed.get("fan", len(sensors)))
    yield from blind(sensors)
    if not findings and (good := read(sensors)):
        yield Well(message=_well(good, sensors, seen.listed.get("fan", len(sensors))))


def _fan(sensor: Sensor, *, turning: bool) -> Finding | None:
    past = worst(sensor, LOWER)
    if past and past[0] in FAILED:
        return found(
            "fan_failed",
            "critical",
            subject(sensor, "fan"),
            "{fan} turns at {value} {unit}: the BMC reports it below its {limit}",
            evidence(sensor),
            fan=sensor.name,
            value=f"{sensor.value:g}",
            unit=sensor.unit,
            limit=limit(sensor, past[0]),
        )
    if sensor.silent is not None or sensor.value != 0 or not turning:
        return None
    # Its own threshold would have said so, or it may stand still by design.
    judged = bool(sensor.thresholds.keys() & {"lnc", "lc", "lnr"}) or OF_SUPPLY.search(sensor.name)
    return found(
        "fan_failed",
        "info" if judged else "warning",
        subject(sensor, "fan"),
        "{fan} stands at 0 {unit} while other fans turn",
        evidence(sensor),
        variant="still",
        fan=sensor.name,
        unit=sensor.unit,
    )


def _chassis(read_ones: int, listed: int) -> Finding:
    return found(
        "fan_failed",
        "info",
        Subject(kind="bmc", name="bmc"),
        "the chassis status reports a cooling or fan fault; none of the {read} fans read of "
        "{listed} shows it",
        Evidence(source="ipmitool raw 0x00 0x01", values={"cooling_fault": True}),
        variant="chassis",
        read=read_ones,
        listed=listed,
    )


def _well(good: Sequence[Sensor], sensors: Sequence[Sensor], listed: int) -> str:
    values = [sensor.value or 0.0 for sensor in good]
    some = f"{len(good)} of {listed}" if listed > len(sensors) else f"{len(good)}"
    noun = "fan" if len(good) == listed == 1 else "fans"
    spread = f"{min(values):g} to {max(values):g} {good[0].unit}"
    return f"{some} {noun} at {spread}{beside(sensors, 'fan')}"
