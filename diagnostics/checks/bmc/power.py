"""Power supplies deliver, one can be lost, and the node draws less than they can give."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.bmc.sensors import BmcSensors, Sensor
from collectors.facts.subject import Subject
from diagnostics.check import Limits, check
from diagnostics.checks.bmc.reading import (
    NO_BMC,
    UPPER,
    beside,
    blind,
    counted,
    evidence,
    limit,
    read,
    subject,
    worst,
)
from diagnostics.finding import Finding, NotApplicable, Severity, Statement, Well, found

NODE = Subject(kind="node", name="node")

# Offsets of sensor type 08h (IPMI 2.0, table 42-3).
PRESENT = 0
STATES: tuple[tuple[int, Severity, str], ...] = (
    (1, "critical", "a failure"),
    (3, "critical", "its input lost"),
    (4, "critical", "its input lost or out of range"),
    (5, "warning", "its input out of range"),
    (2, "warning", "a predicted failure"),
    (6, "warning", "an error of configuration"),
)
DEAD = {1, 3, 4}
# Offsets of event/reading type 0Bh: lost, and non-redundant with or without enough left.
NOT_REDUNDANT = {
    1: "redundancy lost",
    3: "enough left to run, no redundancy",
    4: "enough again to run, no redundancy",
    5: "not enough left to run on",
}


class PowerLimits(Limits, frozen=True, kw_only=True):
    """What the supplies can give; the BMC does not tell it."""

    psu_watts: Annotated[
        float, msgspec.Meta(ge=0, description="what one supply can give, in W; 0: not known")
    ] = 0.0
    load_percent: Annotated[
        float, msgspec.Meta(gt=0, le=100, description="of what the working supplies can give")
    ] = 90.0


@check(
    "bmc.power",
    stage="driver",
    faults=("psu_failed", "psu_redundancy_lost", "node_power_near_capacity"),
    proved="recorded",
)
def power(seen: BmcSensors, limits: PowerLimits) -> Iterator[Statement]:
    """Every power supply delivers, one more can be lost, and the draw leaves room.

    With a supply lost the board may brake all GPUs to a fraction of their clocks, which looks like
    a slow node with cool GPUs.
    """
    supplies, redundancy, draws = seen.of("psu"), seen.of("redundancy"), seen.of("power")
    sensors = (*supplies, *redundancy, *draws)
    if not sensors:
        yield NotApplicable(why="the BMC lists no supply" if seen.present else NO_BMC)
        return
    findings = [f for sensor in supplies if (f := _supply(sensor))]
    findings += _redundancy(redundancy, supplies)
    findings += [f for sensor in draws if (f := _draw(sensor, supplies, limits))]
    yield from findings
    for group in (supplies, redundancy, draws):
        yield from blind(group)
    if not findings and read(sensors):
        yield Well(message=_well(supplies, draws))


def _fitted(supplies: Sequence[Sensor]) -> list[Sensor]:
    """Return the supplies that are in place: an empty place is no lost supply."""
    return [s for s in read(supplies) if PRESENT in s.states or DEAD & set(s.states)]


def _working(supplies: Sequence[Sensor]) -> list[Sensor]:
    return [s for s in _fitted(supplies) if not DEAD & set(s.states)]


def _supply(sensor: Sensor) -> Finding | None:
    said = next((entry for entry in STATES if entry[0] in sensor.states), None)
    if sensor.silent is not None or said is None:
        return None
    offset, severity, words = said
    return found(
        "psu_failed",
        severity,
        subject(sensor, "psu"),
        "power supply {psu} reports {what}",
        evidence(sensor),
        variant="" if offset in DEAD else "impaired",
        psu=sensor.name,
        what=words,
    )


def _redundancy(sensors: Sequence[Sensor], supplies: Sequence[Sensor]) -> Iterator[Finding]:
    for sensor in read(sensors):
        for offset in sorted(set(sensor.states) & set(NOT_REDUNDANT)):
            yield found(
                "psu_redundancy_lost",
                "warning",
                subject(sensor),
                "{sensor} reports: {what}",
                evidence(sensor),
                sensor=sensor.name,
                what=NOT_REDUNDANT[offset],
            )
            return
    fitted, working = _fitted(supplies), _working(supplies)
    if read(sensors) or len(working) == len(fitted) or len(working) * 2 > len(fitted):
        return
    yield found(
        "psu_redundancy_lost",
        "warning",
        NODE,
        "{working} of {fitted} power supplies work: of N+N none is to spare",
        *(evidence(sensor) for sensor in fitted if sensor not in working),
        variant="counted",
        working=len(working),
        fitted=len(fitted),
    )


def _draw(sensor: Sensor, supplies: Sequence[Sensor], limits: PowerLimits) -> Finding | None:
    if (past := worst(sensor, UPPER)) is not None:
        return found(
            "node_power_near_capacity",
            "warning",
            subject(sensor),
            "the node draws {value} W: the BMC reports {sensor} past its {limit}",
            evidence(sensor),
            value=f"{sensor.value:g}",
            sensor=sensor.name,
            limit=limit(sensor, past[0]),
        )
    working = _working(supplies)
    capacity = limits.psu_watts * len(working)
    if sensor.silent is not None or sensor.value is None or not capacity:
        return None
    share = 100 * sensor.value / capacity
    if share < limits.load_percent:
        return None
    return found(
        "node_power_near_capacity",
        "warning",
        subject(sensor),
        "the node draws {value} W, {share} % of the {capacity} W that {working} working supplies "
        "can give",
        evidence(sensor),
        variant="share",
        value=f"{sensor.value:g}",
        share=round(share),
        capacity=f"{capacity:g}",
        working=len(working),
    )


def _well(supplies: Sequence[Sensor], draws: Sequence[Sensor]) -> str:
    parts = []
    if supplies:
        fitted, working = _fitted(supplies), _working(supplies)
        of = counted(len(fitted), "supply")
        parts.append(f"{len(working)} of {of} deliver{beside(supplies, 'supply')}")
    parts += [f"{sensor.name} {sensor.value:g} {sensor.unit}" for sensor in read(draws)]
    return ", ".join(parts) or "redundant"
