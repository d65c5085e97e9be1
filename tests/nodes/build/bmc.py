"""The BMC's part of a node: who it is, its sensors, its event log."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tests.nodes.build.folder import Folder, Json

DEVICES = ("/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0", "/sys/bus/platform/devices/ipmi_bmc.*")
# Event/reading types: states of the sensor's own kind, and of redundancy (IPMI 2.0, table 42-1).
SPECIFIC, REDUNDANCY = 0x6F, 0x0B


@dataclass(frozen=True)
class Sensor:
    """One sensor: a `value`, or states as offsets of its `event` type."""

    kind: str
    name: str
    number: int
    unit: str = ""
    value: float | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    crossed: tuple[str, ...] = ()
    event: int | None = None
    states: tuple[int, ...] = ()

    def answer(self) -> Json:
        """Return the reader's entry."""
        entry: Json = {"kind": self.kind, "name": self.name, "number": self.number}
        if self.value is None:
            return {**entry, "event": self.event, "states": list(self.states)}
        entry |= {"unit": self.unit, "value": self.value}
        return entry | {"thresholds": dict(self.thresholds), "crossed": list(self.crossed)}


@dataclass(frozen=True)
class Bmc:
    """A BMC; `faults` are bits of its chassis status, `events` entries of its log."""

    sensors: tuple[Sensor, ...]
    faults: tuple[str, ...] = ()
    events: tuple[Json, ...] = ()
    firmware: str = "2.14"

    def change(self, name: str, **parts: object) -> "Bmc":
        """Return the BMC with one sensor changed."""
        sensors = tuple(
            replace(s, **parts) if s.name == name else s  # type: ignore[arg-type]  # parts by name
            for s in self.sensors
        )
        return replace(self, sensors=sensors)


def write(folder: Folder, bmc: Bmc | None) -> None:
    """Write the answers of the BMC, or that the kernel knows of none."""
    folder.names += DEVICES
    folder.kinds += ["bmc_info", "bmc_sensors", "bmc_sel"]
    if bmc is None:
        return
    folder.file(DEVICES[0])
    info: Json = {"firmware": bmc.firmware, "manufacturer": 10876, "product": 2327}
    bits = ("power_overload", "power_fault", "cooling_fault")
    info |= {bit: bit in bmc.faults for bit in bits}
    folder.answer("bmc_info", info, seconds=0.06)
    listed: dict[str, int] = {}
    for sensor in bmc.sensors:
        listed[sensor.kind] = listed.get(sensor.kind, 0) + 1
    sensors = [sensor.answer() for sensor in bmc.sensors]
    answer = {"age_s": 0.0, "listed": listed, "sensors": sensors}
    folder.answer("bmc_sensors", answer, seconds=0.9)
    last = max((event["id"] for event in bmc.events), default=211)
    log = {"total": last, "last": last, "full": False, "truncated": False}
    entries = {**log, "entries": list(bmc.events)}
    folder.answer("bmc_sel", entries, {"after": -1}, seconds=0.2)


def _supplies(number: int) -> tuple[Sensor, ...]:
    units = tuple(
        Sensor("psu", f"PS{n} Status", 0xC0 + n, event=SPECIFIC, states=(0,))
        for n in range(1, number + 1)
    )
    redundant = Sensor("redundancy", "PS Redundancy", 0xD0, event=REDUNDANCY, states=(0,))
    return (*units, redundant)


def _common(watts: float) -> tuple[Sensor, ...]:
    inlet = {"unc": 38.0, "uc": 42.0}
    return (
        Sensor("inlet", "Inlet Temp", 0x01, "C", 24.0, inlet),
        *_supplies(6),
        Sensor("power", "Total Power", 0xD8, "W", watts),
    )


def air_cooled(watts: float = 2240.0) -> Bmc:
    """Return the BMC of an eight-GPU node whose fans blow over everything."""
    fans = (
        Sensor("fan", f"FAN{n}", 0x40 + n, "RPM", 8900.0 + 60 * (n % 4), {"lc": 1500.0})
        for n in range(1, 9)
    )
    gpus = (
        Sensor("gpu", f"GPU{n} Temp", 0x20 + n, "C", 34.0 + n % 3, {"unc": 90.0, "uc": 95.0})
        for n in range(1, 9)
    )
    return Bmc((*_common(watts), *fans, *tuple(gpus)[:7]))


def liquid_cooled(watts: float = 1980.0) -> Bmc:
    """Return the BMC of a node in which nothing turns: all heat goes into the coolant."""
    return Bmc(
        (
            *(Sensor("leak", f"Leak {n}", 0x10 + n, event=0x03, states=(0,)) for n in (1, 2)),
            *_common(watts),
            Sensor("coolant_temperature", "Coolant In", 0x18, "C", 31.0, {"unc": 45.0, "uc": 50.0}),
            Sensor("coolant_flow", "Coolant Flow", 0x19, "L/min", 21.5, {"lnc": 12.0, "lc": 8.0}),
        )
    )


def at_work(bmc: Bmc) -> Bmc:
    """Return the BMC of the node under full load: warm GPUs, fast fans, what training draws."""
    values = {"gpu": 62.0, "fan": 13_200.0, "power": 8140.0}
    sensors = tuple(
        replace(s, value=values[s.kind] + s.number % 4) if s.kind in values else s
        for s in bmc.sensors
    )
    return replace(bmc, sensors=sensors)


def supply_lost(number: int, time: float) -> Json:
    """Return the log's entry of a supply that lost its input."""
    return {
        "id": 212,
        "time": time,
        "record_type": 2,
        "sensor_type": 8,
        "sensor": 0xC0 + number,
        "name": f"PS{number} Status",
        "event": SPECIFIC,
        "offset": 3,
        "asserted": True,
        "data": [0xA3, 255, 255],
    }
