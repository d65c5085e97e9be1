"""What the BMC says by Redfish of heat: temperatures and fans, and the supplies beside its limit.

{"Temperatures": [{"Name": "Inlet Temp", "ReadingCelsius": 26, "PhysicalContext": "Intake",
                   "UpperThresholdNonCritical": 38, "UpperThresholdCritical": 43,
                   "Status": {"State": "Enabled", "Health": "OK"}}],
 "Fans": [{"Name": "FAN3", "Reading": 7400, "ReadingUnits": "RPM",
           "LowerThresholdCritical": 600, "Status": {"State": "Enabled"}}]}
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from collectors.helpers.children.sensors import GPU, INLET, INSIDE, LIQUID
from remediations.actor import redfish
from remediations.actor.registry import Refused

MOST = 64
MOST_NAME = 80
# No sensor of a node counts so far.
FURTHEST = 1e6
POWER, THERMAL = "/Power", "/Thermal"
UPPER = {
    "unr": "UpperThresholdFatal",
    "uc": "UpperThresholdCritical",
    "unc": "UpperThresholdNonCritical",
}
LOWER = {
    "lnr": "LowerThresholdFatal",
    "lc": "LowerThresholdCritical",
    "lnc": "LowerThresholdNonCritical",
}
# As IPMI has them of a supply, in 42.2: present, failed, without input.
EVENT, PRESENT, FAILED, NO_INPUT = 0x6F, 0, 1, 3

Sensor = dict[str, Any]


def read(way: Mapping[str, str]) -> list[Sensor]:
    """Ask the two resources of the chassis; Refused where one is none."""
    url = way["url"].rstrip("/")
    if not urlsplit(url).path.endswith(POWER):
        raise Refused("denied", f"redfish_url does not end in {POWER}: its heat is not found")
    beside = url.removesuffix(POWER) + THERMAL
    told, _ = redfish.ask({**way, "url": beside}, "GET")
    limits, _ = redfish.ask(way, "GET")
    return sensors(told, limits)


def sensors(thermal: bytes, power: bytes) -> list[Sensor]:
    """Return what both say as sensors of a BMC; Refused where it is no such resource."""
    heat, supply = _table(thermal, "Thermal"), _table(power, "Power")
    found = [_temperature(one) for one in _rows(heat, "Temperatures")]
    found += [_fan(one) for one in _rows(heat, "Fans")]
    found += [_supply(one) for one in _rows(supply, "PowerSupplies")]
    return [one for one in found if one is not None][:MOST]


def _table(body: bytes, what: str) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Refused("garbled", f"the BMC's answer is no {what} resource of Redfish")
    return said


def _rows(table: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Yield the entries that stand for something that is there."""
    rows = table.get(key)
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and _status(row, "State") != "Absent":
            yield row


def _temperature(row: Mapping[str, Any]) -> Sensor | None:
    name, context = _name(row), _text(row.get("PhysicalContext"))
    kind = _kind(name, context)
    if kind is None:
        return None
    value = _number(row.get("ReadingCelsius"))
    return _measured(row, kind, "C", None if value == 0 else value, UPPER)


def _kind(name: str, context: str) -> str | None:
    if LIQUID.search(name) or context.startswith("Liquid"):
        return "coolant_temperature"
    if GPU.search(name) or context in ("GPU", "Accelerator"):
        return "gpu"
    inlet = INLET.search(name) and not INSIDE.search(name)
    return "inlet" if inlet or context == "Intake" else None


def _fan(row: Mapping[str, Any]) -> Sensor:
    unit = "%" if row.get("ReadingUnits") == "Percent" else "RPM"
    return _measured(row, "fan", unit, _number(row.get("Reading")), LOWER)


def _measured(
    row: Mapping[str, Any], kind: str, unit: str, value: float | None, side: Mapping[str, str]
) -> Sensor:
    one: Sensor = {"kind": kind, "name": _name(row), "unit": unit}
    state = _status(row, "State")
    if value is None or state not in ("", "Enabled"):
        return one | {"silent": f"its state is {state}" if value else "no reading is available"}
    told = {name: _number(row.get(key)) for name, key in side.items()}
    # Where none is set some write 0.
    bounds = {name: bound for name, bound in told.items() if bound is not None and bound > 0}
    crossed = [name for name, bound in bounds.items() if _past(value, bound, side)]
    if not bounds and _status(row, "Health") == "Critical":
        crossed = ["uc" if side is UPPER else "lc"]
    return one | {"value": value, "thresholds": bounds, "crossed": crossed}


def _past(value: float, bound: float, side: Mapping[str, str]) -> bool:
    return value > bound if side is UPPER else value < bound


def _supply(row: Mapping[str, Any]) -> Sensor:
    dead = [FAILED] if _status(row, "Health") == "Critical" else []
    dead += [NO_INPUT] if _status(row, "State") == "UnavailableOffline" else []
    return {"kind": "psu", "name": _name(row), "event": EVENT, "states": [PRESENT, *dead]}


def _status(row: Mapping[str, Any], key: str) -> str:
    status = row.get("Status")
    return _text(status.get(key)) if isinstance(status, dict) else ""


def _name(row: Mapping[str, Any]) -> str:
    return _text(row.get("Name")) or _text(row.get("FanName")) or "?"


def _text(value: object) -> str:
    text = value[:MOST_NAME] if isinstance(value, str) else ""
    return "".join(c for c in text if c.isprintable())


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < FURTHEST else None
