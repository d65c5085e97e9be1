"""The nvml child on unmodified nvidia-ml-py: what goes wrong costs one value and no more."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from collectors.facts.observation import Cause, Missing
from collectors.gpu import asking
from collectors.helpers.children import nvml
from collectors.helpers.helper import Helper
from collectors.helpers.link import Child

FAKE = str(Path(__file__).with_name("fake_nvml.py"))
GIB = 1 << 30
NOT_AVAILABLE = (1 << 64) - 1


def card(number: int, **changes: Any) -> dict[str, Any]:
    """Return a well GPU of the fake."""
    return {
        "uuid": f"GPU-{number:08x}-1c52-4f0e-9d7b-6a1f0b2c3d4e",
        "name": "NVIDIA H100 80GB HBM3",
        "serial": f"165302300{number:04d}",
        "minor": number,
        "pci": f"00000000:{0x1B + 16 * number:02X}:00.0",
        "total": 80 * GIB,
        "used": 70 * GIB,
        "reserved": GIB,
        "use": 97,
        "processes": [[4100 + number, 69 * GIB]],
        **changes,
    }


async def ask(scene: dict[str, Any], times: int = 1, deadline_s: float = 20.0) -> Any:
    """Return the last of *times* answers of one child with *scene* under it."""
    argv = (sys.executable, FAKE, json.dumps({"driver": "580.173.02", "nvml": "13.580", **scene}))
    helper = Helper("nvml", partial(Child.start, argv))
    try:
        for _ in range(times):
            answer = await helper.ask("nvml", deadline_s=deadline_s)
    finally:
        await helper.close()
    return answer


async def test_a_well_gpu_is_told_whole() -> None:
    """Addresses are written as sysfs writes them, sizes in bytes, processes with their memory."""
    answer = await ask({"gpus": [card(0)]}, times=2)

    expected = {
        "driver": "580.173.02",
        "nvml": "13.580",
        "count": 1,
        "failed": {},
        "gpus": [
            {
                "index": 0,
                "uuid": "GPU-00000000-1c52-4f0e-9d7b-6a1f0b2c3d4e",
                "pci": "0000:1b:00.0",
                "minor": 0,
                "name": "NVIDIA H100 80GB HBM3",
                "serial": "1653023000000",
                "memory_total_bytes": 80 * GIB,
                "memory_used_bytes": 70 * GIB,
                "memory_reserved_bytes": GIB,
                "utilisation_percent": 97,
                "mig": False,
                "processes": [{"pid": 4100, "used_bytes": 69 * GIB}],
                "failed": {},
            }
        ],
    }
    assert expected == answer


@pytest.mark.parametrize("code", [9, 18, 999])
async def test_an_init_that_fails_is_its_code(code: int) -> None:
    """The library's own version is told with it: on a mismatch it is half of the evidence."""
    expected = {"init_error": code, "nvml": "13.580"}

    assert expected == await ask({"init": code}, times=2)


@pytest.mark.parametrize("code", [15, 999])
async def test_a_gpu_without_handle_leaves_the_others_alone(code: int) -> None:
    """It is an entry with its code; nobody hands its failed handle to the library again."""
    answer = await ask({"gpus": [card(0), card(1, handle=code), card(2)]})

    expected = ["0000:1b:00.0", {"index": 1, "error": code}, "0000:3b:00.0"]
    assert expected == [gpu if "error" in gpu else gpu["pci"] for gpu in answer["gpus"]]


async def test_what_a_gpu_does_not_tell_is_unknown_and_has_its_code() -> None:
    """An unsupported or lost value is None with NVML's code beside it, never 0."""
    codes = {
        "nvmlDeviceGetUtilizationRates": 3,
        "nvmlDeviceGetMemoryInfo_v2": 15,
        "nvmlDeviceGetComputeRunningProcesses_v3": 999,
        "nvmlDeviceGetPciInfo_v3": 15,
    }
    (gpu,) = (await ask({"gpus": [card(0, codes=codes)]}))["gpus"]

    expected = {
        "pci": None,
        "utilisation_percent": None,
        "memory_total_bytes": None,
        "memory_used_bytes": None,
        "memory_reserved_bytes": None,
        "processes": None,
        "failed": {"memory": 15, "pci": 15, "processes": 999, "utilisation": 3},
    }
    assert expected == {name: gpu[name] for name in expected}


async def test_garbage_in_a_name_costs_that_name() -> None:
    """Bytes that are no UTF-8 raise inside the bindings; the rest of the GPU is still told."""
    (gpu,) = (await ask({"gpus": [card(0, serial="\xff\xfe\x80")]}))["gpus"]

    expected = (None, {"serial": None}, "NVIDIA H100 80GB HBM3")
    assert expected == (gpu["serial"], gpu["failed"], gpu["name"])


async def test_garbage_in_an_address_is_no_address() -> None:
    """An address that is none is unknown, not passed on."""
    (gpu,) = (await ask({"gpus": [card(0, pci="\xff\xff")]}))["gpus"]

    assert gpu["pci"] is None


async def test_an_older_library_lacks_symbols() -> None:
    """A symbol that the library does not have is code 13, and the value unknown."""
    absent = ["nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v3"]
    (gpu,) = (await ask({"gpus": [card(0)], "absent": absent}))["gpus"]

    expected = {"memory": 13, "processes": 13}
    assert expected == gpu["failed"]


async def test_memory_of_a_process_that_is_not_available_is_unknown() -> None:
    """The driver's mark for "not available" is no size of 16 EiB."""
    (gpu,) = (await ask({"gpus": [card(0, processes=[[4100, NOT_AVAILABLE]])]}))["gpus"]

    assert [{"pid": 4100, "used_bytes": None}] == gpu["processes"]


def test_who_asks_and_who_answers_look_at_the_same_file() -> None:
    """A helper imports nothing of its parent, so that each names the file of a loaded driver."""
    assert asking.DRIVER == nvml.DRIVER


async def test_where_the_driver_is_not_loaded_its_library_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening it as root would load the module that was taken out a moment ago."""
    driver = tmp_path / "version"
    monkeypatch.setenv("GPUDIAG_TEST_DRIVER", str(driver))
    gone = await ask({"gpus": [card(0)], "init": 999})
    driver.touch()
    there = await ask({"gpus": [card(0)], "init": 999})

    assert ({"loaded": False}, 999) == (gone, there["init_error"])


async def test_a_call_that_hangs_is_a_timeout() -> None:
    """The child is let go of, and the answer says that none came."""
    scene = {"gpus": [card(0, hangs_in="nvmlDeviceGetUtilizationRates")]}
    answer = await ask(scene, deadline_s=1.0)

    expected = Missing(what="nvml", cause=Cause.TIMEOUT, detail="no answer in 1 s")
    assert expected == answer
