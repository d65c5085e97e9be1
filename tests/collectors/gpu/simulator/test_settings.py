"""Settings that outlive a process, as those of a driver do."""

import json
from pathlib import Path

import pynvml as p  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from tests.collectors.gpu.simulator.simulated import Simulated


def limit() -> int:
    """Return the limit of the first GPU."""
    return int(p.nvmlDeviceGetPowerManagementLimit(p.nvmlDeviceGetHandleByIndex(0)))


def test_seen_by_others(simulated: Simulated, tmp_path: Path) -> None:
    """What one process set is what the next one reads, and what a third changes is seen at once."""
    text, settings = 'model = "h100-sxm"\ncount = 1\n', tmp_path / "settings"
    simulated(text).keep_settings(str(settings))
    p.nvmlDeviceSetPowerManagementLimit(p.nvmlDeviceGetHandleByIndex(0), 630_000)
    simulated(text).keep_settings(str(settings))
    again = limit()
    settings.write_text(json.dumps({"0": {"power.limit_mw": 500_000}}))

    assert (630_000, 500_000) == (again, limit())
