"""Which of a BMC's sensors matter to a GPU node, and what their raw readings say."""

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from collectors.helpers.children import ipmi
from collectors.helpers.children.ipmi import Reply
from collectors.helpers.children.sdr import THRESHOLDS, Sensor

READ, READ_THRESHOLDS = (0x04, 0x2D), (0x04, 0x27)
MOST_SENSORS = 24
SECOND_LOOK_S = 1.0
JUMP = 60.0

TEMPERATURE, FAN, SUPPLY, POWER_UNIT, REDUNDANCY = 0x01, 0x04, 0x08, 0x09, 0x0B
LIQUID = re.compile(r"coolant|liquid|\bcdu|water|manifold|cold ?plate", re.IGNORECASE)
INLET = re.compile(r"inlet|ambient|front ?panel|\bair ?in\b|intake", re.IGNORECASE)
INSIDE = re.compile(r"gpu|cpu|psu|ps\d|nic|vr|hbm|mem|dimm|hdd|nvme", re.IGNORECASE)
GPU = re.compile(r"gpu|accelerator", re.IGNORECASE)
FLOW = re.compile(r"flow|pump", re.IGNORECASE)
AIR = re.compile(r"\bair", re.IGNORECASE)
TOTAL = re.compile(
    r"(total|sys(tem)?|node|chassis|psu|input)[ _-]*(input[ _-]*)?(power|pwr)([ _-]*(in|total))?"
    r"|(power|pwr)[ _-]*(meter|consumption|total)?",
    re.IGNORECASE,
)
# The order in which places are given, with the most of each kind.
PLACES = {
    "leak": 4,
    "inlet": 2,
    "psu": 8,
    "redundancy": 2,
    "power": 2,
    "coolant_temperature": 3,
    "coolant_flow": 3,
    "fan": MOST_SENSORS,
    "gpu": MOST_SENSORS,
}
# What an analog reading at the end of its range stands for: nothing was measured.
EDGES = {"fan": (0xFF,), "coolant_flow": (0xFF,)}
OTHER_EDGES = (0x00, 0xFF)
SIGNED_EDGES = (0x00, 0x80)
# Completion codes, IPMI 2.0, 5.2.
CODES = {
    0xC0: "the BMC is busy",
    0xC3: "the BMC took too long to read it",
    0xCB: "it is not present",
    0xCD: "the BMC does not read it",
    0xCE: "the BMC could not answer",
    0xD5: "it cannot be read in its present state",
}


class Chosen(NamedTuple):
    """A sensor with what it stands for."""

    kind: str
    sensor: Sensor


def kind(sensor: Sensor) -> str | None:  # noqa: PLR0911 - a table of names, one line for each kind
    """Return what a sensor stands for, or None for one that nobody judges."""
    name = sensor.name
    if re.search("leak", name, re.IGNORECASE):
        return "leak"
    if sensor.event == REDUNDANCY and sensor.type in (SUPPLY, POWER_UNIT):
        return "redundancy"
    if sensor.type == SUPPLY and sensor.event == 0x6F:  # noqa: PLR2004 - sensor-specific states
        return "psu"
    if sensor.factors is None:
        return None
    if sensor.type == TEMPERATURE:
        return _temperature(name)
    if FLOW.search(name) and not AIR.search(name):
        return "coolant_flow"
    if sensor.type == FAN:
        return "fan"
    return "power" if sensor.unit == "W" and TOTAL.fullmatch(name) else None


def _temperature(name: str) -> str | None:
    if LIQUID.search(name):
        return "coolant_temperature"
    if GPU.search(name):
        return "gpu"
    return "inlet" if INLET.search(name) and not INSIDE.search(name) else None


def choose(sensors: Sequence[Sensor]) -> tuple[list[Chosen], dict[str, int]]:
    """Return the sensors to read, and how many of each kind there are."""
    listed: dict[str, list[Chosen]] = {name: [] for name in PLACES}
    for sensor in sensors:
        if (name := kind(sensor)) is not None:
            listed[name].append(Chosen(name, sensor))
    chosen: list[Chosen] = []
    for name, most in PLACES.items():
        chosen += listed[name][: min(most, MOST_SENSORS - len(chosen))]
    return chosen, {name: len(ones) for name, ones in listed.items() if ones}


def readings(chosen: Sequence[Chosen], seconds: float) -> list[dict[str, Any]]:
    """Read the chosen sensors in one run, and look again at those that claim to be past a limit."""
    if not chosen:
        return []
    end = time.monotonic() + seconds
    replies = ipmi.ask([(*READ, one.sensor.number) for one in chosen], seconds)
    read = [reading(one, reply) for one, reply in zip(chosen, replies, strict=True)]
    past = [index for index, entry in enumerate(read) if entry.get("crossed")]
    if past and end - time.monotonic() > SECOND_LOOK_S:
        time.sleep(SECOND_LOOK_S)  # noqa: TID251 - a helper process has no loop to stop
        for index, entry in _again(past, chosen, read, end - time.monotonic()):
            read[index] = entry
    return read


def _again(
    past: Sequence[int], chosen: Sequence[Chosen], read: Sequence[dict[str, Any]], seconds: float
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the second look at each, with the thresholds that hold in the BMC now."""
    numbers = [chosen[index].sensor.number for index in past]
    asks = [(*request, n) for n in numbers for request in (READ, READ_THRESHOLDS)]
    replies = ipmi.ask(asks, seconds)
    for index, now, limits in zip(past, replies[::2], replies[1::2], strict=True):
        entry = reading(chosen[index], now)
        if limits.code == 0 and (held := chosen[index].sensor.thresholds(limits.data)):
            entry["thresholds"] = held
        yield index, _settled(read[index], entry)


def _settled(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    before, now = first.get("value"), second.get("value")
    if before is None or now is None or second.get("unit") != "C" or abs(now - before) < JUMP:
        return second
    second["silent"] = f"it jumped from {before:g} to {now:g} C within {SECOND_LOOK_S:g} s"
    return second


def reading(one: Chosen, reply: Reply) -> dict[str, Any]:
    """Return one sensor's answer (35.14) as plain data."""
    sensor = one.sensor
    entry: dict[str, Any] = {"kind": one.kind, "name": sensor.name, "number": sensor.number}
    analog = sensor.factors is not None
    if analog:
        entry |= {"unit": sensor.unit, "thresholds": sensor.thresholds()}
    else:
        entry["event"] = sensor.event
    if (why := _silence(reply)) is not None:
        return {**entry, "silent": why}
    raw, bits = reply.data[0], reply.data[2] if len(reply.data) > 2 else 0  # noqa: PLR2004 - byte 4 may be absent
    if not analog:
        bits |= (reply.data[3] & 0x7F) << 8 if len(reply.data) > 3 else 0  # noqa: PLR2004 - byte 5 may be absent
        return {**entry, "states": [bit for bit in range(15) if bits >> bit & 1]}
    entry |= {"raw": raw, "value": sensor.value(raw)}
    entry["crossed"] = [name for bit, name in enumerate(THRESHOLDS) if bits >> bit & 1]
    if entry["value"] is None:
        entry["silent"] = "its reading cannot be converted"
    elif raw in (SIGNED_EDGES if sensor.signed else EDGES.get(one.kind, OTHER_EDGES)):
        entry["silent"] = f"{entry['value']:g} {sensor.unit} (raw {raw}) is no measurement"
    return entry


def _silence(reply: Reply) -> str | None:
    if reply.code is None:
        return "the BMC gave no answer"
    if reply.code != 0:
        return CODES.get(reply.code, f"the BMC declined with code {reply.code:#04x}")
    if len(reply.data) < 2:  # noqa: PLR2004 - the flags are byte 3
        return "the BMC's answer is cut short"
    if not reply.data[1] & 0x40:
        return "its scanning is switched off"
    return "no reading is available" if reply.data[1] & 0x20 else None
