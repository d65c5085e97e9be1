"""Whole logs of the true shape, with the whole diagnosis of each: healthy ones give no warning."""

from pathlib import Path

import pytest

from agent.cli.log_files import diagnose

LOGS = Path(__file__).parents[2] / "logs"
WHOLE = {
    "megatron-healthy": ("ok", []),
    "megatron-batch-ramp": ("ok", []),
    "megatron-slow": ("warning", [("slow_step", "warning", None)]),
    "megatron-sync-slow": (
        "warning",
        [("gradient_sync_slow", "warning", None), ("slow_step", "warning", None)],
    ),
    "megatron-nan": ("fault", [("nan_loss", "critical", None)]),
    "megatron-nan-once": ("warning", [("nan_loss", "warning", None)]),
    "deepspeed-healthy": ("ok", []),
    "deepspeed-sync-slow": (
        "warning",
        [("gradient_sync_slow", "warning", None), ("slow_step", "warning", None)],
    ),
    "trainer-nan": ("fault", [("nan_loss", "critical", None)]),
    "oom-then-timeout": (
        "fault",
        [
            ("nccl_collective_timeout", "critical", (0, 3, 7)),
            ("cuda_oom", "critical", 6),
            ("worker_crashed", "info", None),
        ],
    ),
    "ecc-with-advice": ("fault", [("ecc_uncorrectable", "critical", 2)]),
    "plain-healthy": ("ok", []),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_log(name: str) -> None:
    """The verdict, and every finding with its fault, severity and ranks."""
    said = diagnose([str(LOGS / f"{name}.log")])
    findings = [
        (f["fault"], f["severity"], f["subject"].get("rank", f["subject"].get("ranks")))
        for f in said.findings
    ]

    assert WHOLE[name] == (said.verdict, findings)


def test_each_log_is_told() -> None:
    """A log in the folder without an expected diagnosis would assert nothing."""
    assert set(WHOLE) == {path.stem for path in LOGS.glob("*.log")}
