"""The verb `nvml_health` on every model and fault: what it says is what the scenario holds."""

import json
import os
from types import SimpleNamespace
from typing import Any

import msgspec
import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest

from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Link
from collectors.helpers.children import nvml
from collectors.helpers.children.nvml import Session
from collectors.helpers.children.nvml_watch import Watch
from tests.collectors.gpu.simulator.simulated import Simulated

H100 = 'model = "h100-sxm"\n'


def watch() -> Watch:
    """Return a watch that nobody started: nothing here hangs."""
    return Watch(lambda line: line)


def told(*, brief: bool = False, only: list[str] | None = None) -> GpuHealth:
    """Return a new session's answer, after its way through JSON."""
    answer = Session(watch()).nvml_health(only or [], brief=brief)
    return msgspec.convert(json.loads(json.dumps(answer)), GpuHealth)


def first(**asked: Any) -> GpuReading:
    """Return the first GPU."""
    return told(**asked).gpus[0]


# name, memory in MiB, limit in W, margin, slowdown margin, slowdown C, width, links, banks,
# persistence, fabric state
STATED: dict[str, tuple[Any, ...]] = {
    "a100-sxm4-40": ("NVIDIA A100-SXM4-40GB", 40960, 400, None, None, 89, 16, 12, 640, True, None),
    "h100-sxm": ("NVIDIA H100 80GB HBM3", 81559, 700, 58, -2, None, 16, 18, 2560, True, 3),
    "h200-sxm": ("NVIDIA H200", 143771, 700, 56, -2, None, 16, 18, 3072, True, 3),
    "b200": ("NVIDIA B200", 183359, 1000, 49, -3, None, 16, 18, 3840, False, 3),
    "gb200": ("NVIDIA GB200", 189471, 1200, 60, -2, None, 16, 18, 3968, True, 3),
    "l40s": ("NVIDIA L40S", 46068, 350, 59, -2, None, 8, None, 192, True, None),
    "t4": ("Tesla T4", 15360, 70, None, None, 93, 8, None, None, True, None),
    "rtx-4090": ("NVIDIA GeForce RTX 4090", 24564, 450, 49, -2, None, 16, None, None, False, None),
}


@pytest.mark.parametrize("model", STATED)
def test_what_a_product_has_is_told_and_what_it_has_not_is_none(
    model: str, simulated: Simulated
) -> None:
    """Each product tells its own figures; what it lacks is None, never 0."""
    simulated(f'model = "{model}"')
    gpu = first()

    assert STATED[model] == (
        gpu.name,
        (gpu.memory.total_bytes or 0) >> 20,
        (gpu.power.limit_mw or 0) // 1000,
        gpu.heat.margin_c,
        gpu.heat.slowdown_margin_c,
        gpu.heat.slowdown_c,
        gpu.pcie.width,
        gpu.nvlink.count,
        gpu.remap.spares_max,
        gpu.modes.persistence,
        gpu.fabric.state,
    )


ILL = """
[gpu.0]
inforom_valid = false
recovery_action = 4
compute_mode = 3
[gpu.0.ecc.volatile]
dram_corrected = 7
sram_parity = 2
sram_secded = 1
[gpu.0.ecc.sram]
threshold_exceeded = true
[gpu.0.remap]
pending = 1
failure = 1
none = 3
[gpu.0.clocks]
reasons = 0x48
hardware_thermal_us = 12
[gpu.0.temperature]
margin_c = -4
[gpu.0.mig]
current = 0
pending = 1
[gpu.0.nvlink.link.4]
active = false
replays = 12
crc_flits = 3
[gpu.0.fabric]
state = 2
health_summary = 2
cluster = "3b1f0c52a4d74e0f9c61d2a7e5f80914"
"""


def test_faults_of_every_kind_stand_where_they_belong(simulated: Simulated) -> None:
    """Each value of an ill GPU is told under its own name, in its own unit."""
    simulated(H100 + ILL)
    gpu = first()

    expected = {
        "inforom_state": "corrupted",
        "recovery_action": 4,
        "compute": 3,
        "volatile": (7, 3),
        "sram": (3, True),
        "remap": (True, True, 3),
        "clocks": (0x48, 12_000),
        "margin": -4,
        "mig": (False, True),
        "link": Link(link=4, active=False, remote=2, errors={"replays": 12, "crc_flits": 3}),
        "fabric": (2, 2, "3b1f0c52-a4d7-4e0f-9c61-d2a7e5f80914"),
    }
    assert expected == {
        "inforom_state": gpu.inforom_state,
        "recovery_action": gpu.recovery_action,
        "compute": gpu.modes.compute,
        "volatile": (gpu.ecc.volatile.corrected, gpu.ecc.volatile.uncorrected),
        "sram": (gpu.ecc.sram_volatile.uncorrected, gpu.ecc.sram_threshold_exceeded),
        "remap": (gpu.remap.pending, gpu.remap.failed, gpu.remap.spares_none),
        "clocks": (gpu.clocks.reasons, gpu.clocks.hardware_thermal_ns),
        "margin": gpu.heat.margin_c,
        "mig": (gpu.modes.mig, gpu.modes.mig_after_reset),
        "link": gpu.nvlink.links[4],
        "fabric": (gpu.fabric.state, gpu.fabric.health, gpu.fabric.cluster),
    }


def test_ports_of_nvlink_5_tell_more_only_where_something_counts(simulated: Simulated) -> None:
    """Two of the counters are of the second question, which one link alone is asked."""
    link = "[gpu.0.nvlink.link.17]\nsymbol_errors = 40\nmalformed_packets = 2\n"
    simulated('model = "b200"\n' + link)
    links = first().nvlink.links

    expected = {17: {"symbol_errors": 40, "malformed_packets": 2}}
    assert expected == {link.link: link.errors for link in links if link.errors}


def test_a_brief_reading_is_what_changes(simulated: Simulated) -> None:
    """Half of it changes within seconds; names, modes and the fabric are not among it."""
    simulated(H100)
    gpu = first(brief=True)

    told = (gpu.pci, gpu.pcie.replays, gpu.heat.gpu_c, gpu.ecc.volatile.uncorrected)
    left = (gpu.name, gpu.vbios, gpu.modes.persistence, gpu.fabric.state, gpu.pcie.max_width)
    assert (("0000:53:00.0", 150, 29, 0), (None,) * 5) == (told, left)


def test_a_driver_of_535_tells_what_it_has(simulated: Simulated) -> None:
    """Three functions have an older form there; the margin and the recovery action have none."""
    simulated(H100 + 'missing_symbols = "535"\n')
    gpu = first()

    codes = {name: gpu.failed.get(name) for name in ("heat.margin_c", "recovery_action")}
    expected = (29, None, None, {"heat.margin_c": 13, "recovery_action": 2})
    assert expected == (gpu.heat.gpu_c, gpu.heat.margin_c, gpu.recovery_action, codes)


def test_throttle_reasons_by_their_old_name(simulated: Simulated) -> None:
    """A driver before 535 knows clock event reasons as throttle reasons."""
    old = "nvmlDeviceGetCurrentClocksEventReasons"
    simulated(H100 + f'missing_symbols = ["{old}"]\n')
    gpu = first()

    assert (1, None) == (gpu.clocks.reasons, gpu.failed.get("clocks.reasons"))


def test_memory_by_the_first_form(simulated: Simulated) -> None:
    """It counts the driver's reserve as used: only the total is taken from it."""
    simulated(H100 + 'missing_symbols = ["nvmlDeviceGetMemoryInfo_v2"]\n')
    memory = first().memory

    assert (85_520_809_984, None) == (memory.total_bytes, memory.used_bytes)


def test_a_lost_gpu_is_its_code(simulated: Simulated) -> None:
    """Without a handle there is the code; the other seven are told whole."""
    simulated(H100 + "[gpu.3.call.nvmlDeviceGetHandleByIndex_v2]\nreturns = 999\n")
    gpus = told().gpus

    assert (GpuReading(index=3, error=999), 8) == (gpus[3], len(gpus))


def test_serial_that_is_no_text(simulated: Simulated) -> None:
    """Bytes that are no text cost that one value."""
    simulated(H100 + '[gpu.0]\nserial = { hex = "ff3132" }\n')
    gpu = first()

    assert (None, None, "NVIDIA H100 80GB HBM3") == (gpu.serial, gpu.failed["serial"], gpu.name)


def test_margins_that_are_typed_unsigned(simulated: Simulated) -> None:
    """A library may give -2 as 4294967294."""
    simulated(H100 + "[gpu.0.field.194]\nvalue = 4294967294\n")

    assert -2 == first().heat.slowdown_margin_c


def test_only_some_are_asked_by_address(simulated: Simulated) -> None:
    """The GPUs of the given addresses are told with the index that NVML gives them."""
    simulated(H100)
    gpus = told(only=["0000:97:00.0", "0000:64:00.0"]).gpus

    assert [(4, "0000:97:00.0"), (1, "0000:64:00.0")] == [(gpu.index, gpu.pci) for gpu in gpus]


def test_pairs_are_every_two_once(simulated: Simulated) -> None:
    """Eight GPUs are 28 pairs, told by address with their distance and their NVLink."""
    simulated(H100)
    pairs = told().pairs
    ancestors = {pair.ancestor for pair in pairs}

    expected = (28, {40, 50}, {0}, ("0000:53:00.0", "0000:64:00.0"))
    first_two = (pairs[0].one, pairs[0].other)
    assert expected == (len(pairs), ancestors, {pair.nvlink for pair in pairs}, first_two)


@pytest.mark.parametrize(("persistence", "held"), [(1, 1), (0, 0)])
def test_without_persistence_the_driver_is_let_go(
    persistence: int, held: int, simulated: Simulated
) -> None:
    """A session at rest has the driver open only where GPUs stay initialised all the same."""
    simulator = simulated(H100 + f'[gpu."*"]\npersistence = {persistence}\n', start=False)
    session = Session(watch())
    session.nvml_health()
    session.rest()
    assert held == simulator.initialised


def test_a_session_that_rested_starts_again(simulated: Simulated) -> None:
    """The next question finds the driver as the first one did."""
    simulator = simulated('model = "b200"\n', start=False)
    session = Session(watch())
    session.nvml_health()
    session.rest()
    answer = session.nvml()

    assert (1, 8) == (simulator.initialised, len(answer["gpus"]))


def test_a_while_without_questions_is_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session rests once nobody has asked for a while, and the next question is still read."""
    rested = list[int]()
    monkeypatch.setattr(nvml, "IDLE_S", 0.01)
    read, write = os.pipe()
    session = SimpleNamespace(rest=lambda: rested.append(os.write(write, b"{}\n")))
    with os.fdopen(read, "rb") as source:
        line = nvml.Questions(source, session).readline(80)  # type: ignore[arg-type] # only rests
    os.close(write)

    assert ([3], b"{}\n") == (rested, line)


def test_no_name_of_the_binding_is_one_that_it_lacks() -> None:
    """A misspelt name would read as a library that is too old, for ever."""
    from collectors.helpers.children import nvml_health as health  # noqa: PLC0415 - tables alone
    from collectors.helpers.children import nvml_lasting as lasting  # noqa: PLC0415 - same

    tables = (health.CHANGING, health.SLOW, lasting.NUMBERS)
    names = {name for table in tables for _, f, _ in table for name in f}
    names |= {*lasting.TEXTS.values(), *health.SEVERAL, *lasting.SEVERAL}
    assert [] == sorted(name for name in names if not hasattr(pynvml, name))
