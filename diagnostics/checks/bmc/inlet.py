"""The air that the node breathes."""

from collections.abc import Iterator

from collectors.bmc.sensors import BmcSensors
from diagnostics.check import check
from diagnostics.checks.bmc.reading import (
    NO_BMC,
    UPPER,
    beside,
    blind,
    evidence,
    limit,
    read,
    subject,
    worst,
)
from diagnostics.finding import NotApplicable, Statement, Well, found


@check("bmc.inlet", stage="driver", faults=("inlet_temperature_high",), proved="real-tool")
def inlet(seen: BmcSensors) -> Iterator[Statement]:
    """Inlet air is below the thresholds that the maker of the node has set for it.

    Warm air takes the margin of every GPU in the node at once: they all throttle, and the job waits
    for this node. Judged by the BMC's own comparison, which knows its thresholds of now.
    """
    sensors = seen.of("inlet")
    if not sensors:
        yield NotApplicable(why="the BMC lists no inlet sensor" if seen.present else NO_BMC)
        return
    hot = [(sensor, past) for sensor in sensors if (past := worst(sensor, UPPER))]
    for sensor, (threshold, severity) in hot:
        yield found(
            "inlet_temperature_high",
            severity,
            subject(sensor),
            "inlet air is at {value} {unit}: the BMC reports {sensor} past its {limit}",
            evidence(sensor),
            value=f"{sensor.value:g}",
            unit=sensor.unit,
            sensor=sensor.name,
            limit=limit(sensor, threshold),
        )
    yield from blind(sensors)
    if not hot and (good := read(sensors)):
        warmest = max(good, key=lambda sensor: sensor.value or 0.0)
        others = beside(sensors, "inlet sensor")
        yield Well(message=f"inlet air at {warmest.value:g} {warmest.unit}{others}")
