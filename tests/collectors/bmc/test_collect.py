"""What the collectors make of a recorded BMC, of none, and of one that is silent."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from collectors.bmc import controller, events, sensors
from collectors.bmc.controller import Bmc
from collectors.bmc.events import BmcEvents, Entry
from collectors.bmc.sensors import BmcSensors, Sensor
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.node.live import Live
from collectors.node.recorded import Recorded
from tests.recording import recorded

DEVICE = {"/dev/ipmi0": ""}
INFO = {"firmware": "2.14", "manufacturer": 10876, "product": 2327, "cooling_fault": False}
INLET = {"kind": "inlet", "name": "Inlet Temp", "number": 1, "unit": "C", "value": 24.0, "raw": 24}
ENTRY = {"id": 41, "time": 1796004000, "record_type": 2, "sensor_type": 7, "sensor": 9}
ANSWERS = (
    {"kind": "bmc_info", "answer": INFO},
    {"kind": "bmc_sensors", "answer": {"sensors": [INLET], "listed": {"inlet": 1}, "age_s": 12.5}},
    {
        "kind": "bmc_sel",
        "args": {"after": -1},
        "answer": {"entries": [ENTRY], "total": 1, "last": 41},
    },
)


def seen(node: Recorded) -> tuple[Any, Any, Any]:
    """Collect all three, the BMC first."""

    async def collect() -> tuple[Any, Any, Any]:
        bmc = await controller.collect(node, Wanted())
        return (
            bmc,
            await sensors.collect(node, Wanted(), bmc),
            await events.collect(node, Wanted(), bmc),
        )

    return asyncio.run(collect())


def test_a_recorded_bmc(tmp_path: Path) -> None:
    """Three answers become three observations."""
    node = recorded(tmp_path, files=DEVICE, answers=ANSWERS)
    inlet = Sensor(kind="inlet", name="Inlet Temp", number=1, unit="C", value=24.0, raw=24)
    entry = Entry(id=41, time=1796004000, sensor_type=7, sensor=9)
    expected = (
        Bmc(firmware="2.14", manufacturer=10876, product=2327, cooling_fault=False),
        BmcSensors(sensors=(inlet,), listed={"inlet": 1}, age_s=12.5),
        BmcEvents(entries=(entry,), total=1, last=41),
    )

    assert expected == seen(node)


def test_a_node_without_a_bmc(tmp_path: Path) -> None:
    """Nobody is asked where the kernel knows of none."""
    expected = (Bmc(present=False), BmcSensors(present=False), BmcEvents(present=False))

    assert expected == seen(recorded(tmp_path))


def test_a_driver_without_a_device(tmp_path: Path) -> None:
    """A BMC that the kernel knows and gives no device for says which module is missing."""
    bound = {"/sys/bus/platform/devices/ipmi_bmc.0/firmware_revision": "2.14\n"}
    bmc, *others = seen(recorded(tmp_path, files=bound))

    assert [Cause.NO_TOOL, True] == [bmc.missing.cause, "ipmi_devintf" in bmc.missing.detail]
    assert others == [bmc.missing] * 2


def test_a_silent_bmc_is_asked_once(tmp_path: Path) -> None:
    """What the first question met stands for the others, which are not asked."""
    silent = {"cause": "timeout", "detail": "ipmitool did not end in 10 s"}
    answers = ({"kind": "bmc_info", "missing": silent}, *ANSWERS[1:])
    bmc, *others = seen(recorded(tmp_path, files=DEVICE, answers=answers))

    assert others == [bmc.missing] * 2
    assert bmc.missing.cause is Cause.TIMEOUT


async def test_this_machine() -> None:
    """A machine without a BMC says so, and one with a BMC says what it is or why not."""
    node = Live()
    got = await controller.collect(node, Wanted())
    await node.close()

    assert isinstance(got, Bmc)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON | st.builds(lambda inner: {"sensors": [inner]}, JSON))
def test_any_answer_is_read(answer: Any) -> None:
    """An answer of another form is garbled, and nothing else happens."""
    got = [controller.read(answer, shape) for shape in (Bmc, BmcSensors, BmcEvents)]

    assert all(not isinstance(one, Missing) or one.cause is Cause.GARBLED for one in got)


@given(st.builds(BmcSensors, age_s=st.floats(0, 1e6), listed=st.just({})))
def test_observations_come_back(seen_ones: BmcSensors) -> None:
    """What is written down of sensors reads back as it was."""
    assert seen_ones == controller.read(msgspec.to_builtins(seen_ones), BmcSensors)
