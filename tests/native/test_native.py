"""A library in C, found by the loader, and the Python one give the same snapshot, all of it."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from tests.collectors.gpu.simulator.simulated import planned

SOURCE = Path(__file__).parent / "nvml.c"
ROOT = SOURCE.parents[2]
SIMULATED = """
import json, sys
import pynvml
from collectors.gpu.simulator import library
from tests.collectors.gpu.simulator import snapshot
simulator = library.install(json.load(sys.stdin))
pynvml.nvmlInit()
json.dump(snapshot.take(), sys.stdout)
assert simulator.errors == [], simulator.errors
"""
MIXED = """
model = "h100-sxm"
[gpu."*"]
utilization = 97
[gpu.0.call.nvmlDeviceGetPowerUsage]
returns = 999
[gpu.1.pcie]
width = 8
[gpu.2]
recovery_action = 1
serial = { hex = "fffe3132" }
[gpu.2.ecc.volatile]
dram_uncorrected = 7
sram_parity = 1
sram_secded = 2
[gpu.2.ecc.sram]
threshold_exceeded = true
l2 = 3
[gpu.2.remap]
uncorrected = 2
pending = 1
max = 2559
none = 1
[gpu.3]
lost = true
[gpu.4.call."*"]
returns = 16
[gpu.5.temperature]
gpu_c = 91
margin_c = -4
[gpu.5.clocks]
reasons = 0x48
hardware_thermal_us = 77
[gpu.5.field.82]
returns = 999
[[gpu.6.process]]
pid = 4242
used_bytes = 71_000_000_000
[[gpu.6.process]]
pid = 4243
[[gpu.6.process]]
pid = 99
graphics = true
used_bytes = 1024
[gpu.7.nvlink.link.4]
active = false
replays = 12
crc_flits = 5
[gpu.7.fabric]
state = 2
status = 27
"""
SCENARIOS = {
    "healthy H100": 'model = "h100-sxm"',
    "mixed faults": MIXED,
    "handle 999": 'model = "h100-sxm"\ncount = 4\n'
    "[gpu.1.call.nvmlDeviceGetHandleByIndex_v2]\nreturns = 999",
    "A100": 'model = "a100-sxm4-40"\n[gpu.0.mig]\ncurrent = 1\npending = 1',
    "B200 with port counters": 'model = "b200"\n[gpu.2.nvlink.link.4]\nsymbol_errors = 9',
    "GB200 in a rack": 'model = "gb200"',
    "H200": 'model = "h200-sxm"',
    "L40S on a switch": 'model = "l40s"\ncount = 4\n[gpu."*".pcie]\nswitch = 1',
    "RTX 4090 without serial": 'model = "rtx-4090"',
    "T4 with retired pages": 'model = "t4"\n[gpu.0.retired]\ndouble_bit = [0x2f000, 0x31000]',
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built library."""
    folder = tmp_path_factory.mktemp("native")
    target = folder / "libnvidia-ml.so.1"
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden")
    run(("cc", *strict, "-shared", "-fPIC", "-o", target, SOURCE), check=True, timeout=120)
    return folder


def lines(plan: dict[str, Any]) -> Iterator[str]:
    """Return the first state of a plan as the library in C reads it."""
    state = plan["states"][0]
    tables = {"system": {**plan["system"], **state["system"]}}
    tables |= {f"gpu.{index}": gpu for index, gpu in enumerate(state["gpus"])}
    for name, table in tables.items():
        for key, value in table.items():
            yield f"{name}.{key} = {text(value)}\n"


def text(value: object) -> str:
    """Return a value in one word; rows of numbers have colons, and lists have commas."""
    if isinstance(value, list):
        rows = (":".join(map(text, row)) if isinstance(row, list) else text(row) for row in value)
        return ",".join(rows)
    return str(0xFFFF_FFFF_FFFF_FFFF) if value is None else str(value)


def in_c(built: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """Return the snapshot that the binding takes of the library in C."""
    scenario = built / "scenario.txt"
    scenario.write_bytes("".join(lines(plan)).encode("utf-8", "surrogateescape"))
    env = {
        **os.environ,
        "LD_LIBRARY_PATH": str(built),
        "GPUDIAG_NATIVE_SCENARIO": str(scenario),
    }
    argv = (sys.executable, "-m", "tests.collectors.gpu.simulator.snapshot")
    return answer(argv, "", env)


def in_python(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the snapshot that the binding takes of the simulator."""
    return answer((sys.executable, "-c", SIMULATED), json.dumps(plan), dict(os.environ))


def answer(argv: tuple[str, ...], given: str, env: dict[str, str]) -> dict[str, Any]:
    """Return what a process prints."""
    ran = run(
        argv,
        input=given,
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    taken: dict[str, Any] = json.loads(ran.stdout)
    return taken


def differences(where: str, native: object, simulated: object) -> Iterator[str]:
    """Yield each place where two snapshots differ."""
    if isinstance(native, dict) and isinstance(simulated, dict):
        for key in {**native, **simulated}:
            yield from differences(f"{where}.{key}", native.get(key), simulated.get(key))
    elif isinstance(native, list) and isinstance(simulated, list) and len(native) == len(simulated):
        for key, pair in enumerate(zip(native, simulated, strict=True)):
            yield from differences(f"{where}[{key}]", *pair)
    elif native != simulated:
        yield f"{where}: {native!r:.80} in C, {simulated!r:.80} in Python"


@pytest.mark.tool("cc")
@pytest.mark.parametrize("name", SCENARIOS)
def test_both_give_the_same_snapshot(name: str, built: Path) -> None:
    """Two layouts, two loaders, one scenario: the whole snapshot is equal, errors included."""
    plan = planned(SCENARIOS[name])
    native, simulated = in_c(built, plan), in_python(plan)
    assert [] == list(differences("", native, simulated))
