"""Heat inside, as the BMC measures it at the GPUs."""

from collections.abc import Iterator

from collectors.bmc.sensors import BmcSensors
from diagnostics.check import check
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
from diagnostics.finding import NotApplicable, Statement, Well, found


@check("bmc.chassis", stage="driver", faults=("chassis_temperature_high",), proved="real-tool")
def chassis(seen: BmcSensors) -> Iterator[Statement]:
    """GPU temperatures, as the BMC reads them past the driver, are below its thresholds.

    The BMC cuts power or trips the node by these, whatever the driver thinks of the same GPU.
    """
    sensors = seen.of("gpu")
    if not sensors:
        yield NotApplicable(why="the BMC lists no GPU sensor" if seen.present else NO_BMC)
        return
    hot = [(sensor, past) for sensor in sensors if (past := worst(sensor, UPPER))]
    for sensor, (threshold, _) in hot:
        yield found(
            "chassis_temperature_high",
            "warning",
            subject(sensor),
            "the BMC reports {sensor} at {value} {unit}, past its {limit}",
            evidence(sensor),
            sensor=sensor.name,
            value=f"{sensor.value:g}",
            unit=sensor.unit,
            limit=limit(sensor, threshold),
        )
    yield from blind(sensors)
    if not hot and (good := read(sensors)):
        hottest = max(good, key=lambda sensor: sensor.value or 0.0)
        yield Well(
            message=f"{counted(len(good), 'GPU sensor')} of the BMC, the hottest at "
            f"{hottest.value:g} {hottest.unit}{beside(sensors, 'GPU sensor')}"
        )
