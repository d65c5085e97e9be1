"""Start and end a simulated BMC whose sensors follow files, and a tool table that leads to it."""

import os
import shutil
import socket
import struct
from contextlib import ExitStack
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen, run
from typing import NamedTuple, Self

from tests.lab.infiniband.fabric import end, until

UPPER, LOWER = "000111111000000", "000000000111111"
IDENTITY = "0x23 9 8 0x9f 0x1291 0xf02"

CONFIG = """name "simbmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  user 1 true  ""        "test" user     10       none md2 md5 straight
  user 2 true  "ipmiusr" "test" admin    10       none md2 md5 straight
"""

OF_BMC = """sdr type 18
    device_slave_address 0x20
    device_channel_number 0
    chassis true
    sel true
    sdr true
    sensor true
    entity_id system_board
    entity_instance 1
    id_string "simbmc"
endsdr
"""

COMMON = """    sensor_owner_id 0x20
    sensor_owner_lun 0
    channel_number 0
    sensor_number {number}
    entity_id {entity}
    entity_instance 1
    sensor_type {type}
    init_scanning true
    init_events true
    init_sensor_type true
    default_event_gen_on true
    default_sensor_scan_on true
    sensor_auto_rearm true
"""

ANALOG = """    init_thresholds true
    sensor_threshold_access settable
    event_reading_type_code 1
    analog_data_format unsigned
    rate_unit none
    modifier_unit none
    percentage false
    base_unit {unit}
    modifier_unit_code unspecified
    linearization linear
    m {m}
    tolerance 0
    b 0
    accuracy 1
    accuracy_exp 0
    sensor_direction input
    r_exp 0
    b_exp 0
    sensor_maximum 255
    sensor_minimum 0
"""


class Analog(NamedTuple):
    """A sensor with a value: its raw number times `m`; thresholds are raw."""

    name: str
    number: int
    type: int
    sdr_type: str
    unit: str
    entity: str
    m: int
    value: int
    upper: tuple[int, int, int] | None = None
    lower: tuple[int, int] | None = None


ANALOGS = (
    Analog(
        "Inlet Temp", 1, 1, "Temperature", "degrees_C", "front_panel_board", 1, 24, (50, 45, 40)
    ),
    Analog("GPU0 Temp", 2, 1, "Temperature", "degrees_C", "add-in_card", 1, 61, (95, 90, 85)),
    Analog("PSU Power", 3, 8, "Power_Supply", "Watts", "power_supply", 10, 1850, (250, 240, 230)),
    Analog("FAN1", 4, 4, "Fan", "RPM", "fan_cooling_device", 100, 7200, None, (5, 8)),
    Analog("FAN2", 5, 4, "Fan", "RPM", "fan_cooling_device", 100, 7100, None, (5, 8)),
)
# Sensor number of each supply; its file holds the states as bits: 1 present, 2 failed, 8 no input.
SUPPLIES = {"PS1 Status": 7, "PS2 Status": 8}


def file_of(name: str) -> str:
    """Return the name of the file that a sensor follows."""
    return name.lower().replace(" ", "-")


class Bmc:
    """One simulated BMC on a port of its own; used as a context, it is ended with it.

    With *dcmi* it also limits the node's power, by a module that is compiled for it.
    """

    def __init__(self, folder: Path, *, dcmi: bool = False) -> None:
        self.folder = folder
        self.dcmi = dcmi
        self.values = folder / "values"
        self.port = _free_port()
        self._stack = ExitStack()
        self.started: Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.values.mkdir()
        for sensor in ANALOGS:
            self.set(sensor.name, sensor.value)
        for name in SUPPLIES:
            self.set(name, 1)
        (self.folder / "lan.conf").write_text(CONFIG.format(port=self.port) + self._module())
        (self.folder / "bmc.emu").write_text("\n".join(self._commands()) + "\n")
        self._list()
        self.tool = self.wrapper("ipmitool")
        with ExitStack() as on_failure:
            on_failure.push(self._stack)
            self.start()
            on_failure.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> None:
        """Start the BMC, and wait until it answers."""
        argv = [_path("ipmi_sim"), "-c", "lan.conf", "-f", "bmc.emu", "-s", "state", "-n"]
        with (self.folder / "sim.out").open("wb") as out:
            self.started = Popen(argv, stdin=DEVNULL, stdout=out, stderr=STDOUT, cwd=self.folder)
        self._stack.callback(end, self.started)
        until("the BMC", lambda: self.asked("raw", "0x06", "0x01"))

    def stop(self) -> None:
        """End the BMC: nobody answers on its port."""
        assert self.started is not None
        end(self.started)

    def set(self, name: str, value: int) -> None:
        """Let a sensor show a value, in its own unit, or as bits of its states."""
        path = self.values / file_of(name)
        new = path.with_suffix(".new")
        new.write_text(f"{value}\n")
        new.replace(path)

    def shows(self, name: str, raw: int) -> None:
        """Wait until a sensor's raw reading is *raw*."""
        number = next(s.number for s in ANALOGS if s.name == name)
        until(f"{name} {raw}", lambda: self._raw(0x04, 0x2D, number).startswith(f"{raw:02x}"))

    def shows_states(self, name: str, bits: int) -> None:
        """Wait until a supply has these states."""
        number = SUPPLIES[name]
        until(f"{name} {bits}", lambda: self._raw(0x04, 0x2D, number)[6:8] == f"{bits:02x}")

    def set_clock(self, to: float) -> None:
        """Set the clock of the event log."""
        self._raw(0x0A, 0x49, *struct.pack("<I", int(to)))

    def logs(self, *record: int) -> None:
        """Put a record of 16 bytes into the event log, as a platform would."""
        self._raw(0x0A, 0x44, *record)

    def logged(self, many: int) -> None:
        """Wait until the event log holds as many records."""
        until(f"{many} records", lambda: int(self._raw(0x0A, 0x40)[3:5], 16) >= many)

    def asked(self, *args: str) -> bool:
        """Return whether the real ipmitool gets an answer."""
        return run([self.tool, *args], capture_output=True, check=False).returncode == 0

    def _raw(self, *request: int) -> str:
        words = [f"{byte:#04x}" for byte in request]
        ran = run([self.tool, "raw", *words], capture_output=True, text=True, check=False)
        return ran.stdout.strip()

    def wrapper(self, name: str, password: str = "test", body: str = "") -> str:  # noqa: S107 - of the simulated BMC
        """Return an `ipmitool` that goes to this BMC, as no machine here has one in band."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        options = f"-I lanplus -C 3 -H 127.0.0.1 -p {self.port} -U ipmiusr -P {password}"
        path.write_text(f'#!/bin/sh\n{body}\nexec {_path("ipmitool")} {options} "$@"\n')
        path.chmod(0o755)
        return str(path)

    def _module(self) -> str:
        """Return the line that loads DCMI, compiled here."""
        if not self.dcmi:
            return ""
        built, source = self.folder / "dcmi.so", Path(__file__).with_name("dcmi.c")
        flags = ("-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O2")
        run([_path("cc"), *flags, "-o", str(built), str(source)], check=True)
        return f'loadlib "{built}" "{self.values}"\n'

    def _commands(self) -> list[str]:
        lines = [
            "mc_setbmc 0x20",
            f"mc_add 0x20 0 no-device-sdrs {IDENTITY} persist_sdr",
            "sel_enable 0x20 1000 0x0a",
            # The simulator's watchdog is the sensor 0.
            "sensor_add 0x20 0 0 35 0x6f event-only",
        ]
        for sensor in ANALOGS:
            at = f"0x20 0 {sensor.number}"
            file = f'poll 50 file "{self.values}/{file_of(sensor.name)}" div={sensor.m}'
            lines.append(f"sensor_add {at} {sensor.type} 1 {file}")
            if sensor.upper:
                lines.append(
                    f"sensor_set_threshold {at} settable 111000 "
                    f"{' '.join(map(str, sensor.upper))} 0 0 0"
                )
            if sensor.lower:
                critical, noncritical = sensor.lower
                limits = f"000011 0 0 0 0 {critical} {noncritical}"
                lines.append(f"sensor_set_threshold {at} settable {limits}")
            states = " ".join([UPPER if sensor.upper else LOWER] * 4)
            lines.append(f"sensor_set_event_support {at} enable scanning per-state {states}")
        for name, number in SUPPLIES.items():
            # With `initstate=` the simulator never comes up.
            file = f'poll 50 file "{self.values}/{file_of(name)}"'
            lines.append(f"sensor_add 0x20 0 {number} 8 0x6f {file}")
            states = " ".join(["000000001111111"] * 4)
            lines.append(
                f"sensor_set_event_support 0x20 0 {number} enable scanning per-state {states}"
            )
        return [*lines, "mc_enable 0x20"]

    def _list(self) -> None:
        """Compile the sensor data records, and lay them where the simulator looks."""
        records = [OF_BMC, *map(_full, ANALOGS), *(_states(n, i) for n, i in SUPPLIES.items())]
        (self.folder / "bmc.sdrs").write_text("\n".join(records))
        target = self.folder / "state" / "ipmi_sim" / "simbmc"
        target.mkdir(parents=True)
        argv = [_path("sdrcomp"), "-o", str(target / "sdr.20.main"), "bmc.sdrs"]
        run(argv, check=True, cwd=self.folder, capture_output=True)


def _full(sensor: Analog) -> str:
    common = COMMON.format(number=sensor.number, entity=sensor.entity, type=sensor.sdr_type)
    lines = [common + ANALOG.format(unit=sensor.unit, m=sensor.m)]
    held = dict(zip(("unr", "uc", "unc"), sensor.upper or (), strict=False))
    held |= dict(zip(("lc", "lnc"), sensor.lower or (), strict=False))
    for name, value in held.items():
        way = "h" if name.startswith("u") else "l"
        lines += [f"    assert_{name}g{way} true", f"    deassert_{name}g{way} true"]
        lines += [f"    {name}_thrsh_readable true", f"    {name}_thrsh_settable true"]
        lines += [f"    {name}_thresh {value}"]
    return "sdr type 1\n" + "\n".join([*lines, f'    id_string "{sensor.name}"', "endsdr\n"])


def _states(name: str, number: int) -> str:
    common = COMMON.format(number=number, entity="power_supply", type="Power_Supply")
    states = "    event_reading_type_code 0x6f\n    share_count 1\n"
    return f'sdr type 2\n{common}{states}    id_string "{name}"\nendsdr\n'


def _path(name: str) -> str:
    path = shutil.which(name, path="/usr/sbin:/usr/bin")
    assert path is not None
    return path


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def living(marker: str) -> list[str]:
    """Return the command lines of processes that name *marker*."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                words = Path(entry.path, "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in words:
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


def gone(marker: str) -> None:
    """Wait until no process names *marker*."""
    until(f"the end of {marker}", lambda: not living(marker))
