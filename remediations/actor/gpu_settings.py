"""What a reset takes from a GPU, read before, and put back afterwards by nvidia-smi.

Each call of nvidia-smi is a process with a deadline: a driver that hangs hangs that alone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import nvml_calls as calls
from collectors.helpers.children import nvml_health
from remediations.actor import caps, held, mig
from remediations.actor.apart import apart
from remediations.actor.registry import Refused
from remediations.actor.run import Unsure, run

READ_S = 30.0
SET_S = 30.0
SWITCH = 2  # nvml.h: NVML_NVLINK_DEVICE_TYPE_SWITCH
MOST_LINKS = 18
COMPLETED = 3  # nvml.h: NVML_GPU_FABRIC_STATE_COMPLETED
NUMBERS: tuple[calls.Number, ...] = (
    ("persistence", ("nvmlDeviceGetPersistenceMode",), ()),
    ("power_mw", ("nvmlDeviceGetPowerManagementLimit",), ()),
    ("default_mw", ("nvmlDeviceGetPowerManagementDefaultLimit",), ()),
    ("compute_mode", ("nvmlDeviceGetComputeMode",), ()),
    ("graphics_mhz", ("nvmlDeviceGetApplicationsClock",), (pynvml.NVML_CLOCK_GRAPHICS,)),
    ("memory_mhz", ("nvmlDeviceGetApplicationsClock",), (pynvml.NVML_CLOCK_MEM,)),
    ("default_mhz", ("nvmlDeviceGetDefaultApplicationsClock",), (pynvml.NVML_CLOCK_GRAPHICS,)),
)
Gpus = dict[str, dict[str, Any]]


def read() -> Gpus:
    """Return by PCI address what is set on each GPU that answers; Refused where none does."""
    told: Gpus = apart(_read, READ_S)
    return told


def _read() -> Gpus:
    found: Gpus = {}
    pynvml.nvmlInitWithFlags(0)
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            gpu = calls.Gpu(pynvml.nvmlDeviceGetHandleByIndex(index))
            at = calls.address(pynvml.nvmlDeviceGetPciInfo(gpu.handle))
        except calls.ERRORS:
            continue
        if at is not None:
            found[at] = _one(gpu)
    return found


def _one(gpu: calls.Gpu) -> dict[str, Any]:
    gpu.put("name", calls.text(gpu.call("name", ("nvmlDeviceGetName",))))
    gpu.numbers(NUMBERS)
    gpu.several({"nvmlDeviceGetMigMode": (("mig", True), ("mig_pending", True))})
    active = [n for n in range(MOST_LINKS) if gpu.call("link", ("nvmlDeviceGetNvLinkState",), n)]
    kinds = {gpu.call("remote", ("nvmlDeviceGetNvLinkRemoteDeviceType",), n) for n in active}
    gpu.put("links", len(active))
    gpu.put("switch", SWITCH in kinds)
    nvml_health.fabric(gpu)
    return {key: value for key, value in gpu.said.items() if key != "failed"}


def driver_version() -> str:
    """Return the loaded driver's version."""
    return str(apart(_driver_version, READ_S))


def _driver_version() -> str | None:
    pynvml.nvmlInitWithFlags(0)
    return calls.text(pynvml.nvmlSystemGetDriverVersion())


def put_back(before: Gpus, gpus: list[str], state: Path) -> list[str]:
    """Set on each of *gpus* what was set before; return in words what could not be.

    Where one call does not end, no more are made: each would hang beside it.
    """
    problems: list[str] = []
    try:
        for gpu in gpus:
            problems += [f"{gpu}: {no}" for no in _put_back(gpu, before[gpu], state)]
    except Unsure as late:
        return [*problems, f"{late}: what was set before is not put back"]
    done = caps.put_back(state)
    return problems + [f"cap of {gpu}: {how}" for gpu, how in done.items() if "not" in how]


def _put_back(gpu: str, was: Mapping[str, Any], state: Path) -> list[str]:
    problems = [*_set(gpu, "-pm", str(was["persistence"]))] if "persistence" in was else []
    if (watts := _watts(gpu, was, state)) is not None:
        problems += _set(gpu, "-pl", watts)
    if was.get("compute_mode"):
        problems += _set(gpu, "-c", str(was["compute_mode"]))
    if was.get("graphics_mhz") not in (None, was.get("default_mhz")) and "memory_mhz" in was:
        problems += _set(gpu, "-ac", f"{was['memory_mhz']},{was['graphics_mhz']}")
    return problems + (mig.put_back(gpu, was["instances"]) if was.get("mig") else [])


def _watts(gpu: str, was: Mapping[str, Any], state: Path) -> str | None:
    """Return the power limit in watts, None where it was the default.

    Where the limit is our cap, what was before the cap; the cap itself is set by who holds it.
    """
    capped = held.read(state).get(gpu)
    limit = capped.cap.before if capped is not None and capped.unit == "mW" else was.get("power_mw")
    if limit is None or limit == was.get("default_mw"):
        return None
    return f"{limit / 1000:g}"


def _set(gpu: str, option: str, value: str) -> list[str]:
    """Set one thing; return in words that it failed, Unsure where it did not end."""
    try:
        ran = run("nvidia-smi", "-i", gpu, option, value, seconds=SET_S)
    except Refused as no:
        return [no.detail]
    return [] if ran.status == 0 else [f"nvidia-smi {option} {value}: {ran.said}"]


def lacking(before: Gpus, now: Gpus) -> list[str]:
    """Return the GPUs that were there before and are not any more."""
    return sorted(before.keys() - now.keys())


def completed(now: Gpus) -> bool:
    """Return whether the fabric is set up on every GPU, without an error."""
    fabrics = [one.get("fabric", {}) for one in now.values()]
    return bool(now) and all((f.get("state"), f.get("status")) == (COMPLETED, 0) for f in fabrics)
