"""The reader's verbs with a real ipmitool on a simulated BMC, and with one that misbehaves."""

import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from collectors.facts.observation import Missing
from collectors.helpers.children import bmc as verbs
from collectors.helpers.children import ipmi, sensors, tools
from collectors.helpers.children.loop import Refused
from collectors.helpers.helper import Helper
from collectors.helpers.link import Child
from tests.lab.ipmi.bmc import Bmc, gone

pytestmark = [pytest.mark.tool("ipmi_sim", "ipmitool"), pytest.mark.root]


def values() -> dict[str, Any]:
    return {sensor["name"]: sensor.get("value") for sensor in verbs.bmc_sensors()["sensors"]}


def counted(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let ipmitool write down how it was called."""
    log = bmc.folder / "calls"
    tool = bmc.wrapper("counting", body=f'echo "$*" >> {log}')
    monkeypatch.setattr(tools, "given", {"ipmitool": tool})
    return log


def misbehaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Put a program in ipmitool's place."""
    tool = tmp_path / "ipmitool"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    monkeypatch.setattr(tools, "given", {"ipmitool": str(tool)})


def refused() -> tuple[str, str]:
    with pytest.raises(Refused) as no:
        verbs.bmc_info()
    return no.value.cause, no.value.detail


@pytest.mark.usefixtures("bmc")
def test_who_it_is() -> None:
    """Firmware, maker and product are what `mc info` prints, and no fault is set."""
    expected = {
        "firmware": "9.08",
        "manufacturer": 0x1291,
        "product": 0x0F02,
        "power_overload": False,
        "power_fault": False,
        "cooling_fault": False,
    }

    assert expected == verbs.bmc_info()


def test_sensors_follow_what_is(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a minute has passed the sensors are read again; the list of them is not."""
    log = counted(bmc, monkeypatch)
    monkeypatch.setattr(verbs, "KEEP_S", 0.0)
    first = values()
    bmc.set("Inlet Temp", 31)
    bmc.shows("Inlet Temp", 31)
    second = values()

    assert [(24.0, 31.0), 1] == [
        (first["Inlet Temp"], second["Inlet Temp"]),
        log.read_text().count("sdr dump"),
    ]


def test_the_list_outlives_the_helper(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new helper takes the list of sensors from the folder that root alone can write."""
    log = counted(bmc, monkeypatch)
    monkeypatch.setattr(verbs, "KEEP_S", 0.0)
    values()
    monkeypatch.setattr(verbs, "_lists", {})
    values()

    assert log.read_text().count("sdr dump") == 1


def test_one_reading_a_minute(bmc: Bmc) -> None:
    """Who asks again within a minute gets the same readings, with their age."""
    verbs.bmc_sensors()
    bmc.set("Inlet Temp", 31)
    bmc.shows("Inlet Temp", 31)
    again = verbs.bmc_sensors()

    assert [24.0] == [s["value"] for s in again["sensors"] if s["kind"] == "inlet"]
    assert 0 < again["age_s"] < verbs.KEEP_S


def test_what_others_can_write_is_not_believed(
    bmc: Bmc, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that others can write is neither read nor written."""
    log = counted(bmc, monkeypatch)
    kept.mkdir()
    kept.chmod(0o777)
    values()
    monkeypatch.setattr(verbs, "_lists", {})
    values()

    assert [2, []] == [log.read_text().count("sdr dump"), list(kept.iterdir())]


def test_a_jump_is_no_measurement(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is at 100 C and a second later at 25 C was neither."""
    bmc.set("Inlet Temp", 100)
    bmc.shows("Inlet Temp", 100)

    def pause(seconds: float) -> None:
        assert seconds == 1.0
        bmc.set("Inlet Temp", 25)
        bmc.shows("Inlet Temp", 25)

    clock = SimpleNamespace(sleep=pause, monotonic=time.monotonic)
    monkeypatch.setattr(sensors, "time", clock)
    inlet = next(s for s in verbs.bmc_sensors()["sensors"] if s["kind"] == "inlet")

    assert inlet["silent"] == "it jumped from 100 to 25 C within 1 s"


def test_the_event_log_by_cursor(bmc: Bmc) -> None:
    """A threshold that is crossed becomes an entry with its time; a cursor leaves out the rest."""
    bmc.logged(2)
    verbs.bmc_sensors()
    # The BMC's clock is 5 h off, as one that keeps another zone's time.
    bmc.set_clock(time.time() - 5 * 3600)
    before = verbs.bmc_sel(0)
    bmc.set("GPU0 Temp", 91)
    bmc.logged(before["total"] + 2)
    after = verbs.bmc_sel(before["last"])

    expected = [("GPU0 Temp", 1, 7), ("GPU0 Temp", 1, 9)]
    assert expected == [(e["name"], e["sensor_type"], e["offset"]) for e in after["entries"]]
    assert all(abs(e["time"] - time.time()) < 30 for e in after["entries"])
    assert [e["time"] for e in before["entries"]] == [None, None]


def test_more_entries_than_are_read_at_once(bmc: Bmc) -> None:
    """Entries come oldest first, over several runs; those older than a day stay where they are."""
    for number in range(43):
        if number in (0, 3):
            # A BMC puts its own time into what it is told to log.
            bmc.set_clock(time.time() - (100_000 if number == 0 else 60))
        bmc.logs(0, 0, 2, 0, 0, 0, 0, 0x20, 0, 4, 0x0C, number, 0x6F, 0, 255, 255)
    got = verbs.bmc_sel()

    numbers = [entry["sensor"] for entry in got["entries"] if entry["sensor_type"] == 0x0C]
    assert list(range(3, 43)) == numbers


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("number", [-2, 65535, 1 << 40])
def test_no_record_id(number: int) -> None:
    """Nothing that is no record id is asked for."""
    with pytest.raises(Refused, match="no record id"):
        verbs.bmc_sel(number)


@pytest.mark.usefixtures("kept")
def test_silence_ends_with_its_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that says nothing for 20 s is ended at the deadline, and its children with it."""
    misbehaves(tmp_path, monkeypatch, f"(exec -a {tmp_path}/grandchild sleep 20) & sleep 20")
    monkeypatch.setattr(verbs, "ASK_S", 0.3)
    began = time.monotonic()

    assert ("timeout", "ipmitool did not end in 0.3 s") == refused()
    assert time.monotonic() - began < 5.0
    gone(str(tmp_path))


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("body", "cause", "detail"),
    [
        ("head -c 5000 /dev/urandom | tr -d '\\n'", "crashed", ""),
        ("yes 'RAW REQ (' >&2", "garbled", "ipmitool printed more than 1048576 bytes"),
        ("echo ' 00 01'", "garbled", "ipmitool printed 2 bytes and spoke of 0"),
        ("echo 'RAW REQ (' >&2", "garbled", "ipmitool answered 1 of 2 requests"),
        ("exit 3", "crashed", "ipmitool ended with status 3 and said nothing"),
        ("printf 'no \\033[31mway\\n' >&2; exit 1", "crashed", "no ?[31mway"),
    ],
)
def test_garbage(
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    body: str,
    cause: str,
    detail: str,
) -> None:
    """Whatever stands in ipmitool's place, the answer is a reason in one line."""
    misbehaves(tmp_path, monkeypatch, body)
    got = refused()

    assert (cause, detail) == (got[0], got[1] if detail else "")


@pytest.mark.usefixtures("kept")
def test_without_ipmitool(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that is not there is told by the path that was looked at."""
    monkeypatch.setattr(tools, "given", {"ipmitool": "/no/such/ipmitool"})

    assert ("no_tool", "/no/such/ipmitool is not installed") == refused()


@pytest.mark.usefixtures("kept")
async def test_the_tool_goes_with_the_helper(tmp_path: Path) -> None:
    """A parent that loses patience ends the helper, and the helper takes its tool along."""
    tool = tmp_path / "ipmitool"
    tool.write_text("#!/bin/sh\nexec sleep 20\n")
    tool.chmod(0o755)
    table = f'{{"ipmitool": "{tool}"}}'
    module = "collectors.helpers.children.reader"
    argv = (sys.executable, "-I", "-m", module, "--tools", table)
    helper = Helper("bmc", partial(Child.start, argv))

    got = await helper.ask("bmc_info", deadline_s=1.0)
    await helper.close()
    # Both name the folder of this test, the helper in its table and the tool in its path.
    gone(str(tmp_path))

    assert [True, 0] == [isinstance(got, Missing), helper.stuck]


def test_many_requests_cost_one_run(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies come in the order asked, those that the BMC declines among them."""
    log = counted(bmc, monkeypatch)
    replies = ipmi.ask([(0x04, 0x2D, 1), (0x04, 0x2D, 99), (0x04, 0x2D, 4)], 5.0)

    assert [0, 0xCC, 0] == [reply.code for reply in replies]
    assert [24, 72] == [reply.data[0] for reply in replies if reply.data]
    assert len(log.read_text().splitlines()) == 1
