"""What the helper makes of ipmitool's bytes: replies, sensor records, event records, settings."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collectors.helpers.children import bmc, ipmi, kept, sdr, sel, sensors, tools
from collectors.helpers.children.ipmi import Ran, Reply
from collectors.helpers.children.loop import Refused
from collectors.helpers.children.sdr import Sensor
from collectors.helpers.children.sensors import Chosen

STDERR = """Loading IANA PEN Registry...
RAW REQ (channel=0x0 netfn=0x4 lun=0x0 cmd=0x2d data_len=1)
RAW REQUEST (1 bytes)
 21
RAW RSP (4 bytes)
RAW REQ (channel=0x0 netfn=0x4 lun=0x0 cmd=0x2d data_len=1)
RAW REQUEST (1 bytes)
 63
Unable to send RAW command (channel=0x0 netfn=0x4 lun=0x0 cmd=0x2d rsp=0xcb): Requested sensor, \
data, or record not found
RAW REQ (channel=0x0 netfn=0xa lun=0x0 cmd=0x43 data_len=6)
RAW REQUEST (6 bytes)
 00 00 07 00 00 ff
RAW RSP (18 bytes)
RAW REQ (channel=0x0 netfn=0x0 lun=0x0 cmd=0x1 data_len=0)
Unable to send RAW command (channel=0x0 netfn=0x0 lun=0x0 cmd=0x1)
"""
STDOUT = """ 1a c0 00 00
 08 00 07 00 02 11 22 33 66 20 00 04 08 c9 6f 03
 ff ff
"""


def full(name: bytes = b"Inlet Temp", **fields: int) -> bytes:
    """Return a full record (type 01h): the fields' places are those of the specification less 1."""
    record = bytearray(48) + name
    record[0:7] = bytes((7, 0, 0x51, 1, len(record) - 5, 0x20, 0))
    values = {"number": 0x21, "type": 1, "event": 1, "base": 1, "m": 1, "id": 0xC0 | len(name)}
    places = {"number": 7, "type": 12, "event": 13, "readable": 18, "units": 20, "base": 21}
    places |= {"lin": 23, "m": 24, "m_high": 25, "b": 26, "b_high": 27, "exps": 29}
    places |= {"unr": 36, "uc": 37, "unc": 38, "lnr": 39, "lc": 40, "lnc": 41, "id": 47}
    places |= {"owner": 5, "lun": 6}
    for key, value in (values | fields).items():
        record[places[key]] = value
    return bytes(record)


def compact(name: bytes, *, share: int = 0, modifier: int = 0) -> bytes:
    record = bytearray(32) + name
    record[0:8] = bytes((9, 0, 0x51, 2, len(record) - 5, 0x20, 0, 0xC8))
    record[12], record[13], record[23], record[24] = 8, 0x6F, share, modifier
    record[31] = 0xC0 | len(name)
    return bytes(record)


def test_replies_of_one_run() -> None:
    """Bytes of several lines go to the requests that were answered, in order."""
    entry = bytes.fromhex("08 00 07 00 02 11 22 33 66 20 00 04 08 c9 6f 03 ff ff")
    expected = [Reply(0, b"\x1a\xc0\x00\x00"), Reply(0xCB), Reply(0, entry), Reply(None)]

    assert expected == ipmi.read(STDOUT, STDERR)


@given(st.text(), st.text())
@example(" 00\n", "RAW REQ (\nRAW RSP (9999 bytes)")
@example("", "RAW RSP (4 bytes)\nUnable to send RAW command (rsp=0xcb)")
def test_any_output_is_read(stdout: str, stderr: str) -> None:
    """Whatever is printed, there are replies or a reason."""
    try:
        replies = ipmi.read(stdout, stderr)
    except Refused as no:
        replies = [Reply(None)] if no.cause == "garbled" else []

    assert all(isinstance(reply, Reply) for reply in replies)


@given(st.text(), st.text())
def test_a_complaint_is_one_line(stdout: str, stderr: str) -> None:
    """The reason can stand in a sentence, whatever the tool said."""
    said = ipmi.complaint(Ran(1, stdout, stderr))

    assert said.isprintable()
    assert 0 < len(said) <= 200


def test_a_linear_sensor() -> None:
    """(M raw + B 10^Bexp) 10^Rexp, with ten-bit M and B and four-bit exponents of two's form."""
    # M = 2, B = 5 with exponent 1, result exponent -1: (2 * 60 + 50) / 10
    sensor = sdr.sensors(full(m=2, b=5, exps=0xF1))[0]
    # M is -1, and the raw number -3.
    negative = sdr.sensors(full(m=0xFF, m_high=0xC0, units=0x80))[0]

    assert [17.0, 3.0] == [sensor.value(60), negative.value(0xFD)]


def test_thresholds_that_can_be_read() -> None:
    """Those of the record's mask, from the record or from the BMC's own reply."""
    sensor = sdr.sensors(full(readable=0x18, uc=45, unc=40, lc=3))[0]
    assert {"unc": 40.0, "uc": 45.0} == sensor.thresholds()

    assert {"unc": 38.0, "uc": 43.0} == sensor.thresholds(bytes((0x18, 0, 0, 0, 38, 43, 0)))


def test_whose_sensors() -> None:
    """Sensors behind another controller or on another LUN are not asked for."""
    dump = full() + full(b"Behind", owner=0x2C) + full(b"LUN 1", lun=1) + full(b"GPU1 Temp")

    assert ["Inlet Temp", "GPU1 Temp"] == [sensor.name for sensor in sdr.sensors(dump)]


def test_a_shared_record() -> None:
    """One compact record stands for several supplies, counted in their names and numbers."""
    shared = sdr.sensors(compact(b"PS", share=3, modifier=1))
    lone = sdr.sensors(compact(b"PS1 Status"))

    expected = [("PS1", 0xC8), ("PS2", 0xC9), ("PS3", 0xCA), ("PS1 Status", 0xC8)]
    assert expected == [(sensor.name, sensor.number) for sensor in (*shared, *lone)]


@pytest.mark.parametrize(
    ("code", "data", "name"),
    [
        (0xC4, b"FAN1\xff", "FAN1"),
        (0x83, bytes.fromhex("66e846"), "FAN1"),
        (0x42, b"\x12\x3a", "123"),
        (0xC3, b"a\x07b", "a?b"),
    ],
)
def test_names(code: int, data: bytes, name: str) -> None:
    """Names come as 8-bit text, as 6-bit packed and as BCD plus; they are printable."""
    assert name == sdr.text(code, data)


@given(st.binary(max_size=400))
def test_any_dump_is_read(dump: bytes) -> None:
    """Whatever a dump holds, reading it ends and gives numbers or None."""
    found = sdr.sensors(dump)

    assert all(isinstance(sensor.value(77), float | None) for sensor in found)


@given(st.binary(min_size=48, max_size=70), st.integers(0, 255))
def test_any_full_record_is_read(record: bytes, raw: int) -> None:
    """Every formula, whatever its factors, gives a finite number or None."""
    whole = record[:3] + bytes((1, len(record) - 5, 0x20, 0)) + record[7:]
    sensor = sdr.sensors(whole)[0]
    chosen = Chosen("gpu", sensor)

    got = sensors.reading(chosen, Reply(0, bytes((raw, 0xC0, 0x3F, 0x7F))))
    assert ("value" in got) != ("states" in got)


@given(st.integers(-512, 511), st.integers(0, 255))
def test_raw_numbers_come_back(m: int, raw: int) -> None:
    """A reading of a linear sensor is M times its raw number."""
    sensor = sdr.sensors(full(m=m & 0xFF, m_high=m >> 2 & 0xC0))[0]

    assert sensor.value(raw) == m * raw


def analog(name: str, type_: int = 1, unit: str = "C") -> Sensor:
    return Sensor(1, name, type_, 1, 0, unit, bytes((0, 1, 0, 0, 0, 0, 0)))


def state(name: str, type_: int, event: int = 0x6F) -> Sensor:
    return Sensor(1, name, type_, event, 0)


@pytest.mark.parametrize(
    ("sensor", "kind"),
    [
        (analog("Inlet Temp"), "inlet"),
        (analog("Ambient Temp"), "inlet"),
        (analog("TEMP_FRONT_PANEL"), None),
        (analog("Front Panel Temp"), "inlet"),
        (analog("PSU1 Inlet Temp"), None),
        (analog("GPU7 Temp"), "gpu"),
        (analog("CPU1 Temp"), None),
        (analog("Coolant Inlet Temp"), "coolant_temperature"),
        (analog("Coolant Flow", 0x0B, "l/min"), "coolant_flow"),
        (analog("Pump 1", 4, "RPM"), "coolant_flow"),
        (analog("System Airflow", 0x0B, "CFM"), None),
        (analog("FAN12", 4, "RPM"), "fan"),
        (state("FAN12 Presence", 4), None),
        (analog("Total Power", 8, "W"), "power"),
        (analog("Pwr Consumption", 9, "W"), "power"),
        (analog("PSU1 PIN", 8, "W"), None),
        (analog("GPU1 Power", 8, "W"), None),
        (state("PS1 Status", 8), "psu"),
        (state("PS Redundancy", 8, 0x0B), "redundancy"),
        (state("Fan Redundancy", 4, 0x0B), None),
        (state("Leak Tray", 0xC0, 0x03), "leak"),
        (state("SEL Fullness", 0x10), None),
    ],
)
def test_what_a_sensor_stands_for(sensor: Sensor, kind: str | None) -> None:
    """Names and types say which sensors matter; all others are not read."""
    assert kind == sensors.kind(sensor)


def test_at_most_24() -> None:
    """What people must hear of first gets the first places, fans and GPUs the rest."""
    many = [analog(f"FAN{n}", 4, "RPM") for n in range(30)]
    many += [analog(f"GPU{n} Temp") for n in range(8)]
    many += [analog("Inlet Temp"), state("Leak Tray", 0xC0, 0x03)]
    chosen, listed = sensors.choose(many)
    kinds = [one.kind for one in chosen]

    assert {"leak": 1, "inlet": 1, "fan": 30, "gpu": 8} == listed
    assert ["leak", "inlet", *["fan"] * 22] == kinds


@pytest.mark.parametrize(
    ("reply", "silent"),
    [
        (Reply(0, b"\x18\xc0\x00"), None),
        (Reply(0, b"\x18\xe0\x00"), "no reading is available"),
        (Reply(0, b"\x18\x80\x00"), "its scanning is switched off"),
        (Reply(0, b"\x00\xc0\x00"), "0 C (raw 0) is no measurement"),
        (Reply(0, b"\xff\xc0\x18"), "255 C (raw 255) is no measurement"),
        (Reply(0xCB), "it is not present"),
        (Reply(0xC7), "the BMC declined with code 0xc7"),
        (Reply(None), "the BMC gave no answer"),
        (Reply(0, b"\x18"), "the BMC's answer is cut short"),
    ],
)
def test_why_a_sensor_is_silent(reply: Reply, silent: str | None) -> None:
    """Each way of saying nothing has its reason."""
    assert silent == sensors.reading(Chosen("inlet", analog("Inlet Temp")), reply).get("silent")


def test_a_fan_may_stand() -> None:
    """Zero is a measurement for what turns or flows."""
    got = sensors.reading(Chosen("fan", analog("FAN1", 4, "RPM")), Reply(0, b"\x00\xc0\x03"))

    assert (0.0, ["lnc", "lc"], None) == (got["value"], got["crossed"], got.get("silent"))


NOW, CLOCK = 1_796_004_000.0, 1_795_986_000


def test_times_by_our_clock() -> None:
    """A BMC that is 5 h behind is set right; a time since its own start is none."""
    stamped = bytes.fromhex("0700 02") + (CLOCK - 60).to_bytes(4, "little") + bytes(9)
    early = bytes.fromhex("0800 02") + (3916).to_bytes(4, "little") + bytes(9)
    oem = bytes.fromhex("0900 e0") + bytes(13)
    times = [sel.entry(record, {}, CLOCK, NOW)["time"] for record in (stamped, early, oem)]

    assert [NOW - 60, None, None] == times


@given(st.binary(min_size=16, max_size=16), st.none() | st.integers(0, 2**32 - 1))
def test_any_record_is_read(record: bytes, clock: int | None) -> None:
    """Whatever 16 bytes say, they become an entry with its id."""
    got = sel.entry(record, {}, clock, NOW)

    assert int.from_bytes(record[:2], "little") == got["id"]


@given(st.binary(max_size=20), st.none() | st.integers(0, 255), st.binary(max_size=6))
def test_any_identity_is_read(said: bytes, code: int | None, chassis: bytes) -> None:
    """A BMC that does not identify itself is refused, whatever it sent."""
    try:
        got = bmc.info(Reply(code, said), Reply(0, chassis))
    except Refused as no:
        got = {"firmware": no.cause}

    assert ("crashed" if code != 0 or len(said) < 11 else got["firmware"]) == got["firmware"]


def test_the_tool_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit takes a tool's path from the settings, which others cannot write."""
    settings = tmp_path / "gpudiag.toml"
    settings.write_text('[tools]\nipmitool = "/bin/true"\n')
    settings.chmod(0o644)
    monkeypatch.setattr(tools, "SETTINGS", str(settings))
    monkeypatch.setattr(tools, "given", None)

    assert "/bin/true" == tools.path("ipmitool")
    settings.chmod(0o666)
    with pytest.raises(Refused, match=r"chmod go-w") as no:
        tools.path("ipmitool")
    assert no.value.cause == "denied"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tools = 3\n", "must be names with absolute paths"),
        ("[tools]\nipmitool = 7\n", "must be names with absolute paths"),
        ("[tools\n", "gpudiag.toml: "),
        ('[tools]\nipmitool = "bin/true"\n', "bin/true is not installed"),
    ],
)
def test_a_table_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    """What is no table of absolute paths is refused."""
    settings = tmp_path / "gpudiag.toml"
    settings.write_text(text)
    settings.chmod(0o644)
    monkeypatch.setattr(tools, "SETTINGS", str(settings))
    monkeypatch.setattr(tools, "given", None)

    with pytest.raises(Refused, match=why):
        tools.path("ipmitool")


def test_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written comes back whole; what lies behind a link or is another's does not."""
    monkeypatch.setenv("CACHE_DIRECTORY", str(tmp_path / "kept"))
    kept.write("one", b"bytes")
    (tmp_path / "other").write_bytes(b"planted")
    (tmp_path / "kept" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "kept" / "open").write_bytes(b"planted")
    os.chmod(tmp_path / "kept" / "open", 0o666)  # noqa: PTH101, S103 - what is to be refused

    assert [b"bytes", None, None, None] == [kept.read(n) for n in ("one", "link", "open", "none")]


@pytest.mark.parametrize(
    "text", [b"", b"[]", b'{"taken": "x"}', b'{"taken": 1}', b'{"taken": 9e99, "answer": 1}']
)
def test_old_or_odd_answers_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    """An answer from the future, of long ago or without a time is asked for again."""
    monkeypatch.setenv("CACHE_DIRECTORY", str(tmp_path / "kept"))
    kept.write("answer", text)

    assert kept.recent("answer", 60.0) is None


def test_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one helper asks the BMC, another waits, and then says so."""
    monkeypatch.setenv("CACHE_DIRECTORY", str(tmp_path / "kept"))
    with (
        kept.alone("bmc", 0.0),
        pytest.raises(Refused, match="another helper") as no,
        kept.alone("bmc", 0.1),
    ):
        pass

    assert no.value.cause == "timeout"
