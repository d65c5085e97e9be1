"""Temperatures, fans and supplies by Redfish: the cause of heat where IPMI tells none."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.bmc.sensors import Sensor
from remediations.actor import caps, thermal
from remediations.actor.registry import Kept, Refused
from remediations.policy import parse
from tests.remediations.actor.redfish_bmc import RedfishBmc

ALLOWED = """[heat]
redfish = true
redfish_url = "{url}"
redfish_credentials = "{credentials}"
"""


@pytest.fixture
def bmc() -> Iterator[RedfishBmc]:
    """Run a BMC."""
    with RedfishBmc() as running:
        yield running


def asked(bmc: RedfishBmc, folder: Path) -> tuple[Sensor, ...]:
    """Return what the actor's verb gives, as those read it who ask."""
    policy = parse(ALLOWED.format(**bmc.way(folder)))
    return msgspec.convert(caps.node_sensors(Kept(folder, policy))["sensors"], tuple[Sensor, ...])


def test_what_is_read(bmc: RedfishBmc, tmp_path: Path) -> None:
    """Inlet, GPU, fan and supply; what nobody judges, or is not there, is left out."""
    said = asked(bmc, tmp_path)

    expected = [
        ("inlet", "Inlet Temp", 26.0, "C", {"unc": 38.0, "uc": 43.0}, (), ()),
        ("gpu", "Tray 1", 61.0, "C", {}, (), ()),
        ("fan", "FAN3", 7400.0, "RPM", {"lc": 600.0}, (), ()),
        ("psu", "PSU1", None, "", {}, (), (0,)),
    ]
    assert expected == [
        (s.kind, s.name, s.value, s.unit, s.thresholds, s.crossed, s.states) for s in said
    ]


def test_a_hot_room_and_a_dead_supply(bmc: RedfishBmc, tmp_path: Path) -> None:
    """What is past its threshold, and failed, by the BMC's own bounds."""
    bmc.inlet, bmc.supply = 44.0, "Critical"
    inlet, *_, supply = asked(bmc, tmp_path)

    assert ({"unc", "uc"}, (0, 1)) == ({*inlet.crossed}, supply.states)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"ReadingCelsius": None}, "no reading is available"),
        ({"ReadingCelsius": 0}, "no reading is available"),
        ({"ReadingCelsius": "26"}, "no reading is available"),
        (
            {"ReadingCelsius": 26, "Status": {"State": "StandbyOffline"}},
            "its state is StandbyOffline",
        ),
    ],
)
def test_what_cannot_be_believed(row: dict[str, Any], expected: str) -> None:
    """A sensor without a measurement is silent, with its reason."""
    body = json.dumps({"Temperatures": [{"Name": "Inlet", **row}]}).encode()
    (one,) = thermal.sensors(body, b"{}")

    assert (expected, False) == (one["silent"], "value" in one)


@pytest.mark.parametrize(
    ("row", "crossed"),
    [
        ({"Reading": 400, "LowerThresholdCritical": 600}, ["lc"]),
        ({"Reading": 0, "LowerThresholdCritical": 0}, []),
        ({"Reading": 0, "Status": {"Health": "Critical"}}, ["lc"]),
        ({"Reading": 12, "LowerThresholdNonCritical": 15, "ReadingUnits": "Percent"}, ["lnc"]),
    ],
)
def test_fans(row: dict[str, Any], crossed: list[str]) -> None:
    """A bound of 0 is none; without bounds the BMC's own word on the fan counts."""
    (one,) = thermal.sensors(json.dumps({"Fans": [row]}).encode(), b"{}")

    assert crossed == one["crossed"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Coolant In", "coolant_temperature"), ("GPU3 HBM", "gpu"), ("Front Panel", "inlet")],
)
def test_what_a_temperature_is_of(name: str, kind: str) -> None:
    """Its name tells where no context does."""
    body = json.dumps({"Temperatures": [{"Name": name, "ReadingCelsius": 30}]}).encode()

    assert [kind] == [one["kind"] for one in thermal.sensors(body, b"{}")]


def test_without_redfish(tmp_path: Path) -> None:
    """A site that names no BMC by Redfish, or another resource, is told so."""
    said = []
    for heat in ("dcmi = true", 'redfish = true\nredfish_url = "https://10.0.0.9/redfish/v1"'):
        with pytest.raises(Refused) as no:
            caps.node_sensors(Kept(tmp_path, parse(f"[heat]\n{heat}\n")))
        said.append(no.value.detail)

    assert [
        "the policy names no BMC by Redfish: [heat] redfish, redfish_url",
        "redfish_url does not end in /Power: its heat is not found",
    ] == said


def test_a_bmc_that_refuses(bmc: RedfishBmc, tmp_path: Path) -> None:
    """Its own word is told."""
    bmc.faults["GET"] = "503"
    with pytest.raises(Refused, match="the BMC answers GET with 503"):
        asked(bmc, tmp_path)


KEYS = "Temperatures Fans PowerSupplies Name Reading ReadingCelsius Status State Health"
KEYS += " UpperThresholdCritical PhysicalContext"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON.map(json.dumps).map(str.encode) | st.binary(max_size=60), JSON)
def test_whatever_it_says(heat: bytes, power: Any) -> None:
    """Every answer is a bounded list of sensors that can be read, or a refusal."""
    found: list[dict[str, Any]] = []
    with suppress(Refused):
        found = thermal.sensors(heat, json.dumps(power).encode())

    assert len(found) == len(msgspec.convert(found, list[Sensor]))
