"""Each product as its driver reports it, well and ill: read by the real helper, then judged."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu import health, nvml, simulator
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import GpuSnapshot
from collectors.node.recorded import Recorded
from diagnostics.check import Check
from diagnostics.checks.gpu import clocks, count, fabric, heat, nvlink, pcie, power, topology
from tests.recording import write

MODELS = sorted(p.stem for p in (Path(simulator.__file__).parent / "models").glob("*.toml"))
CHECKS: tuple[Check, ...] = (
    count.count,
    heat.heat,
    power.power,
    clocks.clocks,
    pcie.pcie,
    nvlink.nvlink,
    fabric.fabric,
    topology.topology,
)
DRIVER = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 580.105.08\n"}
TRAINING = """
[gpu."*"]
utilization = 100
[gpu."*".memory]
used_bytes = 15_900_000_000
[gpu."*".clocks]
reasons = 4
"""


async def collected(node: Recorded) -> tuple[GpuSnapshot | Missing, GpuHealth | Missing]:
    """Return what both questions of the driver give."""
    quiet = KernelLog(records=())
    try:
        use = await nvml.collect(node, Wanted(), quiet)
        return use, await health.collect(node, Wanted(), quiet, use)
    finally:
        await node.close()


def findings(folder: Path, model: str, scenario: str = "") -> set[tuple[str, str, str]]:
    """Return (fault, severity, GPU's index) of what the checks find on a simulated node."""
    write(folder, files=DRIVER)
    (folder / "nvml.toml").write_text(f'model = "{model}"\n{scenario}')
    use, seen = asyncio.run(collected(Recorded(folder)))
    facts: dict[type[Observation], Any] = {GpuSnapshot: use, GpuHealth: seen}
    results = [check.run(facts) for check in CHECKS]
    return {
        (f.fault, f.severity, "" if f.subject.index is None else str(f.subject.index))
        for result in results
        for f in result.findings
    }


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scenario", ["", TRAINING], ids=["idle", "training"])
def test_a_healthy_product_is_silent(model: str, scenario: str, tmp_path: Path) -> None:
    """No product, idle or in training at its power cap, gives a finding above a note."""
    loud = {one for one in findings(tmp_path, model, scenario) if one[1] != "info"}
    assert set() == loud


@pytest.mark.parametrize("model", ["l40s", "t4"])
def test_half_of_the_lanes_by_design_is_a_note(model: str, tmp_path: Path) -> None:
    """Cloud servers give each L40S and T4 eight of sixteen lanes."""
    assert {("pcie_link_degraded", "info", "0")} == findings(tmp_path, model)


FAULTS = {
    "a margin used up": (
        "[gpu.5.temperature]\ngpu_c = 88\nmargin_c = -2",
        ("gpu_thermal_margin_low", "critical", "5"),
    ),
    "heat slows one down": (
        "[gpu.5.clocks]\nreasons = 0x48\nsm_mhz = 990",
        ("gpu_thermal_throttle", "critical", "5"),
    ),
    "software slows one down": (
        "[gpu.5.clocks]\nreasons = 0x20",
        ("gpu_thermal_throttle", "warning", "5"),
    ),
    "the brake": ("[gpu.5.clocks]\nreasons = 0x88", ("gpu_power_brake", "critical", "5")),
    "hardware": ("[gpu.5.clocks]\nreasons = 0x8", ("gpu_clock_low", "warning", "5")),
    "one limit": ("[gpu.5.power]\nlimit_mw = 500000", ("gpu_power_cap_low", "warning", "5")),
    "eight lanes": ("[gpu.5.pcie]\nwidth = 8", ("pcie_link_degraded", "warning", "5")),
    "an old slot": (
        "[gpu.5.pcie]\nmax_generation = 3\ngeneration = 3",
        ("pcie_link_degraded", "warning", "5"),
    ),
    "replays": (
        "[[step]]\nat_s = 1.5\n[step.gpu.5.pcie]\nreplays = 20000",
        ("pcie_replay_rate", "warning", "5"),
    ),
    "a link off": (
        "[gpu.5.nvlink.link.4]\nactive = false",
        ("nvlink_down", "critical", "5"),
    ),
    "in progress": ("[gpu.5.fabric]\nstate = 2", ("fabric_manager_not_ready", "critical", "5")),
}


@pytest.mark.parametrize("name", FAULTS)
def test_one_fault_gives_one_finding(name: str, tmp_path: Path) -> None:
    """An H100 node with one fault has that finding, of that GPU, and no other."""
    scenario, expected = FAULTS[name]
    assert {expected} == findings(tmp_path, "h100-sxm", scenario)


def test_a_lost_gpu_leaves_the_others_judged(tmp_path: Path) -> None:
    """Seven GPUs answer beside a lost one: what is wrong with one of them is still found."""
    scenario = "[gpu.2]\nlost = true\n[gpu.5.pcie]\nwidth = 8"
    assert {("pcie_link_degraded", "warning", "5")} == findings(tmp_path, "h100-sxm", scenario)
