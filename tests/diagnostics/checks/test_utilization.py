"""Low use of GPUs is told with its class, by the first source that explains it."""

import pytest

from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Clocks
from collectors.gpu.nvml import Gpu, GpuProcess, GpuSnapshot
from diagnostics.checks.training.utilization import utilization
from diagnostics.rules.seen import LogSeen, TrainingLogs
from diagnostics.series.curve import Curve
from diagnostics.series.point import Point
from diagnostics.series.progress import JobProgress, JobStand


def said(
    *, use: int = 21, data: float = 0, sync: float = 0, reasons: int = 0, cpu: float = 0
) -> str:
    """Return what is said of two GPUs whose steps, clocks and ranks are so."""
    points = tuple(Point(step=n, step_ms=800, data_ms=data, sync_ms=sync) for n in range(30))
    busy: dict[str, float] = {"812": cpu}
    gpu = Gpu(
        index=0,
        utilisation_percent=use,
        utilisation_before_percent=use,
        processes=(GpuProcess(pid=812),),
    )
    reading = GpuReading(index=0, pci="0000:1c:00.0", clocks=Clocks(reasons=reasons))
    told = utilization.run(
        {
            GpuSnapshot: GpuSnapshot(count=1, gpus=(gpu,)),
            TrainingLogs: TrainingLogs(
                logs=(LogSeen(name="train.log", lines=30, curve=Curve(points=points)),)
            ),
            GpuHealth: GpuHealth(gpus=(reading,)),
            JobProgress: JobProgress(jobs=(JobStand(job="88123", pids=(812,), busy=busy),)),
        }
    )
    return told.message.partition("): ")[2]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"data": 410, "reasons": 4}, "data takes 51 % of a step"),
        ({"sync": 410, "cpu": 1.0}, "communication takes 51 % of a step"),
        ({"reasons": 4}, "a cap holds 1 of 1 GPUs down (power, heat or hardware)"),
        ({"reasons": 0x80, "cpu": 1.0}, "a cap holds 1 of 1 GPUs down (power, heat or hardware)"),
        ({"cpu": 1.0}, "the CPU: each rank keeps 1.0 processors busy"),
        ({"use": 0, "reasons": 1}, "idle: nothing runs on them"),
        ({}, "neither data, communication, a cap nor the CPUs explain it"),
        ({"use": 90, "data": 410}, ""),
    ],
)
def test_class(seen: dict[str, float], expected: str) -> None:
    """What the log says comes first; well used GPUs need no explanation."""
    assert expected == said(**seen)  # type: ignore[arg-type]  # counts and shares by name
