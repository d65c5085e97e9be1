"""What the checks of BMC sensors have in common: subject, evidence, and what may be believed."""

from collections.abc import Iterator, Mapping, Sequence

from collectors.bmc.sensors import Sensor
from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from diagnostics.finding import Evidence, Severity, Unseen

NO_BMC = "the kernel sees no BMC on this node"

WORDS = {
    "lnc": "lower non-critical",
    "lc": "lower critical",
    "lnr": "lower non-recoverable",
    "unc": "upper non-critical",
    "uc": "upper critical",
    "unr": "upper non-recoverable",
}
UPPER: Mapping[str, Severity] = {"unr": "critical", "uc": "critical", "unc": "warning"}
LOWER: Mapping[str, Severity] = {"lnr": "critical", "lc": "critical", "lnc": "warning"}


def subject(sensor: Sensor, kind: str = "sensor") -> Subject:
    """Return a sensor as a subject; its name is what the BMC calls it."""
    return Subject(kind=kind, name=sensor.name)


def evidence(sensor: Sensor) -> Evidence:
    """Return the raw request that read the sensor, with all that it gave."""
    values = {
        "value": sensor.value,
        "unit": sensor.unit,
        "raw": sensor.raw,
        "thresholds": dict(sensor.thresholds),
        "crossed": list(sensor.crossed),
        "states": list(sensor.states),
    }
    used = {key: value for key, value in values.items() if value not in (None, "", [], {})}
    return Evidence(source=f"ipmitool raw 0x04 0x2d {sensor.number:#04x}", values=used)


def worst(sensor: Sensor, side: Mapping[str, Severity]) -> tuple[str, Severity] | None:
    """Return the outermost threshold on one side that the BMC says is passed."""
    if sensor.silent is not None:
        return None
    return next(((name, side[name]) for name in side if name in sensor.crossed), None)


def limit(sensor: Sensor, threshold: str) -> str:
    """Return a threshold in words, with its value where the BMC tells it."""
    value = {str(name): held for name, held in sensor.thresholds.items()}.get(threshold)
    words = f"{WORDS[threshold]} threshold"
    return words if value is None else f"{words} of {value:g} {sensor.unit}"


def read(sensors: Sequence[Sensor]) -> tuple[Sensor, ...]:
    """Return the sensors that said something believable."""
    return tuple(sensor for sensor in sensors if sensor.silent is None)


def blind(sensors: Sequence[Sensor]) -> Iterator[Unseen]:
    """Yield what hides a possible fault: no sensor of this kind speaks, or one cries nonsense.

    A silent one beside others that speak is what an empty place of the chassis looks like.
    """
    silent = [sensor for sensor in sensors if sensor.silent is not None]
    if sensors and len(silent) == len(sensors):
        yield _unseen(silent[0], more=len(silent) - 1)
        return
    for sensor in silent:
        if sensor.crossed:
            yield _unseen(sensor)


def _unseen(sensor: Sensor, more: int = 0) -> Unseen:
    others = f" (and {more} more)" if more else ""
    what = f"BMC sensor {sensor.name}{others}"
    detail = f"{sensor.name}: {sensor.silent}"
    missing = Missing(what=what, cause=Cause.CRASHED, detail=detail)
    return Unseen(missing=missing, subject=None if more else subject(sensor))


def beside(sensors: Sequence[Sensor], noun: str) -> str:
    """Return how many sensors said nothing, as the end of a clause that names the others."""
    silent = len(sensors) - len(read(sensors))
    return f", {counted(silent, noun)} silent" if silent else ""


def counted(many: int, noun: str) -> str:
    """Return a number with its noun."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{many} {noun if many == 1 else plural}"
