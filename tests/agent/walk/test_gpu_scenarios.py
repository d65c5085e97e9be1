"""The driver stage of nodes whose GPUs are simulated: what is found, and what is left in peace."""

import asyncio
import time
from pathlib import Path

import pytest

from agent.walk.walk import BUDGET_S, Selection, walk
from agent.walk.walked import Walked
from collectors.facts.wanted import Wanted
from collectors.node.recorded import Recorded
from tests.collectors.gpu.test_health import BUS, DRIVER
from tests.recording import write

OURS = ("gpu.recovery", "gpu.memory_errors", "gpu.identity", "gpu.modes", "gpu.firmware")
HANGS = "[gpu.4.call.nvmlDeviceGetPowerUsage]\nblocks_s = -1\n"
HANGS_EARLY = "[gpu.4.call.nvmlDeviceGetUtilizationRates]\nblocks_s = -1\n"


def walked(
    folder: Path, scenario: str, checks: tuple[str, ...], stages: tuple[str, ...] = ()
) -> tuple[Walked, ...]:
    """Walk a recording of GPUs alone."""
    write(folder, files={**DRIVER, **BUS}, kinds=("kernel_log",))
    (folder / "nvml.toml").write_text(scenario)
    node = Recorded(folder)

    async def once() -> tuple[Walked, ...]:
        try:
            return await walk(node, Wanted(), Selection(stages=stages, checks=checks), {})
        finally:
            await node.close()

    return asyncio.run(once())


def findings(stages: tuple[Walked, ...]) -> list[tuple[str, str, str]]:
    """Return fault, severity and subject of all that was found."""
    return [
        (f.fault, f.severity, f.subject.name)
        for stage in stages
        for result in stage.results
        for f in result.findings
    ]


WELL = {
    "h100-sxm": [],
    "h200-sxm": [],
    "a100-sxm4-40": [],
    "gb200": [],
    "l40s": [],
    "t4": [],
    "b200": [("persistence_mode_off", "info", "node")],
    "rtx-4090": [("persistence_mode_off", "info", "node")],
}


@pytest.mark.parametrize("model", WELL)
def test_healthy_products(model: str, tmp_path: Path) -> None:
    """A healthy node of each product gives no finding above info."""
    stages = walked(tmp_path, f'model = "{model}"\n', OURS)

    assert WELL[model] == findings(stages)


ILL = {
    "[gpu.2]\nrecovery_action = 1": ("gpu_reset_required", "critical", "0000:75:00.0"),
    "[gpu.2]\nrecovery_action = 6": ("gpu_reset_required", "warning", "0000:75:00.0"),
    "[gpu.2]\ninforom_valid = false": ("gpu_inforom_corrupted", "warning", "0000:75:00.0"),
    "[gpu.2]\nvbios = '96.00.74.00.01'": ("firmware_mixed", "warning", "0000:75:00.0"),
    "[gpu.2]\ncompute_mode = 2": ("gpu_compute_mode_restricted", "info", "node"),
    "[gpu.2.mig]\ncurrent = 1\npending = 1": ("gpu_mode_mixed", "info", "node"),
    "[gpu.2.ecc.volatile]\ndram_uncorrected = 1": (
        "ecc_uncorrectable",
        "critical",
        "0000:75:00.0",
    ),
    "[gpu.2.ecc.sram]\nthreshold_exceeded = true": (
        "ecc_uncorrectable",
        "critical",
        "0000:75:00.0",
    ),
    "[gpu.2.remap]\npending = 1": ("row_remap_pending", "warning", "0000:75:00.0"),
    "[gpu.2.remap]\nfailure = 1": ("row_remap_failed", "critical", "0000:75:00.0"),
    "[[step]]\nat_s = 1.5\n[step.gpu.2.ecc.volatile]\ndram_corrected = 40": (
        "ecc_correctable_rate",
        "info",
        "0000:75:00.0",
    ),
}


@pytest.mark.parametrize("scenario", ILL)
def test_ill_ones(scenario: str, tmp_path: Path) -> None:
    """One thing that is wrong with one GPU is one finding, of that GPU."""
    stages = walked(tmp_path, f'model = "h100-sxm"\n{scenario}\n', OURS)

    assert [ILL[scenario]] == findings(stages)


@pytest.mark.parametrize("scenario", [HANGS, HANGS_EARLY], ids=["health", "use"])
def test_a_hung_gpu_leaves_the_others_judged(scenario: str, tmp_path: Path) -> None:
    """The walk ends within its budget, names the GPU and the call, and judges the other seven."""
    began = time.monotonic()
    stages = walked(tmp_path, f'model = "h100-sxm"\n{scenario}', (), ("processes", "driver"))
    seconds = time.monotonic() - began
    results = {result.check: result for stage in stages for result in stage.results}

    hung = [f for f in results["driver.answers"].findings if f.fault == "driver_hung"]
    expected = ["0000:97:00.0"], "7 of 8 GPUs: the driver wants no recovery", True
    assert expected == (
        [finding.subject.name for finding in hung],
        results["gpu.recovery"].message,
        seconds < BUDGET_S,
    )
