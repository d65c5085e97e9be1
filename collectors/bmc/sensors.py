"""The BMC's sensors that matter to a GPU node: at most 24, read once a minute by the reader."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from collectors.bmc import controller
from collectors.bmc.controller import Bmc, OfBmc
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

Kind = Literal[
    "leak",
    "inlet",
    "psu",
    "redundancy",
    "power",
    "coolant_temperature",
    "coolant_flow",
    "fan",
    "gpu",
]
Threshold = Literal["lnc", "lc", "lnr", "unc", "uc", "unr"]


class Sensor(msgspec.Struct, frozen=True, kw_only=True):
    """One sensor: a `value` in `unit`, or states; `silent` is why neither can be believed.

    Thresholds are lower and upper, non-critical, critical and non-recoverable; `crossed` are those
    which the BMC itself says are passed. `states` are offsets of the event/reading type `event`.
    """

    kind: Kind
    name: str
    number: int = 0
    unit: str = ""
    value: float | None = None
    raw: int | None = None
    thresholds: Mapping[Threshold, float] = {}
    crossed: tuple[Threshold, ...] = ()
    event: int | None = None
    states: tuple[int, ...] = ()
    silent: str | None = None


class BmcSensors(OfBmc, frozen=True, kw_only=True):
    """The sensors that were read, `age_s` ago, and of each kind how many the BMC lists."""

    sensors: tuple[Sensor, ...] = ()
    listed: Mapping[Kind, int] = {}
    age_s: float = 0.0

    def of(self, kind: Kind) -> tuple[Sensor, ...]:
        """Return the sensors of one kind."""
        return tuple(sensor for sensor in self.sensors if sensor.kind == kind)


async def collect(node: Node, wanted: Wanted, bmc: Bmc | Missing) -> BmcSensors | Missing:
    """Ask the reader for the sensors of a BMC that answers."""
    del wanted
    return await controller.ask(node, bmc, "bmc_sensors", BmcSensors)
