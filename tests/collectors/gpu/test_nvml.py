"""GPUs by NVML: not asked where no driver is, twice where one is."""

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.gpu.nvml import Gpu, GpuProcess, GpuSnapshot, _snapshot, collect
from collectors.node.recorded import Recorded
from tests.recording import recorded, write

DRIVER = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 580.173.02\n"}


def answer(use: int) -> dict[str, Any]:
    """Return a child's answer of one GPU."""
    return {
        "driver": "580.173.02",
        "nvml": "13.580.173.02",
        "count": 1,
        "failed": {},
        "gpus": [
            {
                "index": 0,
                "uuid": "GPU-0",
                "pci": "0000:4e:00.0",
                "minor": 0,
                "name": "NVIDIA H100 80GB HBM3",
                "serial": None,
                "memory_total_bytes": 1000,
                "memory_used_bytes": 900,
                "memory_reserved_bytes": 10,
                "utilisation_percent": use,
                "mig": None,
                "processes": [{"pid": 4100, "used_bytes": None}],
                "failed": {"serial": 3, "mig": 3},
            }
        ],
    }


def test_without_a_driver_nobody_is_asked(tmp_path: Path) -> None:
    """A device node alone proves no driver; the child is not started, and nothing is unknown."""
    node = recorded(tmp_path, files={"/dev/nvidiactl": ""})

    assert GpuSnapshot(loaded=False) == asyncio.run(collect(node, Wanted()))


def test_two_samples_stand_side_by_side(tmp_path: Path) -> None:
    """What a GPU did a second ago stands beside what it does now."""
    write(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": answer(12)}])
    later = [{"kind": "nvml", "answer": answer(97)}]
    write(tmp_path / "at" / "1", answers=later)
    expected = GpuSnapshot(
        driver="580.173.02",
        nvml="13.580.173.02",
        count=1,
        watched_s=1.0,
        gpus=(
            Gpu(
                index=0,
                uuid="GPU-0",
                pci="0000:4e:00.0",
                minor=0,
                name="NVIDIA H100 80GB HBM3",
                memory_total_bytes=1000,
                memory_used_bytes=900,
                memory_reserved_bytes=10,
                utilisation_percent=97,
                utilisation_before_percent=12,
                processes=(GpuProcess(pid=4100),),
                failed={"serial": 3, "mig": 3},
            ),
        ),
    )

    assert expected == asyncio.run(collect(Recorded(tmp_path), Wanted()))


def test_an_init_error_is_an_observation(tmp_path: Path) -> None:
    """That NVML does not start is known, and not missing."""
    said = {"init_error": 18, "nvml": "12.570.86.15"}
    node = recorded(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "answer": said}])

    expected = GpuSnapshot(init_error=18, nvml="12.570.86.15")
    assert expected == asyncio.run(collect(node, Wanted()))


def test_a_driver_that_does_not_answer_is_missing_by_name(tmp_path: Path) -> None:
    """The check tells the driver's silence from the walk's by its name; where it stood is kept."""
    silence = {"cause": "timeout", "detail": "no answer in 15 s", "stuck": "pid 4711, state D"}
    node = recorded(tmp_path, files=DRIVER, answers=[{"kind": "nvml", "missing": silence}])

    expected = Missing(
        what="NVML", cause=Cause.TIMEOUT, detail="no answer in 15 s", stuck="pid 4711, state D"
    )
    assert expected == asyncio.run(collect(node, Wanted()))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["gpus", "index", "x"]), inner),
)


@given(JSON)
def test_any_answer_is_a_snapshot_or_garbled(value: object) -> None:
    """An answer of another shape is told as garbled, and raises nothing."""
    got = _snapshot(value)

    assert isinstance(got, GpuSnapshot) or got.cause is Cause.GARBLED
