"""Who has a GPU open, in whatever PID namespace, and how our own let go of it.

The kernel's list is whole only where this is the machine's first PID namespace. The driver's own
list of who computes is asked as well: it counts what no descriptor shows.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types

from collectors.helpers.children import nvml_calls, processes
from remediations.actor.registry import Refused

# linux/proc_ns.h: PROC_PID_INIT_INO
FIRST_NAMESPACE = 0xEFFFFFFC
OURS = frozenset({"gpudiag-agent.service", "gpudiag-reader.service", "gpudiag-actor.service"})
PERSISTENCED = "nvidia-persistenced.service"
FABRIC_MANAGER = "nvidia-fabricmanager.service"
# 0::/system.slice/nvidia-persistenced.service     1:name=systemd:/system.slice/...
UNIT = re.compile(r"^(?:0:|\d+:name=systemd):/system\.slice/([\w@.-]+\.service)$", re.MULTILINE)
MOST_NAMED = 3


class Holder(NamedTuple):
    """One process, and the unit of systemd that the kernel says it is in."""

    pid: int
    comm: str
    unit: str | None


def holders() -> list[Holder]:
    """Return all; Refused where one may be there that nobody can see."""
    if Path("/proc/self/ns/pid").stat().st_ino != FIRST_NAMESPACE:
        raise Refused("denied", "not in the machine's first PID namespace: holders may be hidden")
    told = processes.holders()
    if told["unseen"]:
        raise Refused("denied", f"{told['unseen']} processes could not be looked at")
    return [_holder(one) for one in told["holders"]]


def _holder(one: dict[str, Any]) -> Holder:
    unit = UNIT.search(one["cgroup"])
    return Holder(one["pid"], one["comm"], unit[1] if unit else None)


def must_be_none(*apart_from: str) -> None:
    """Raise Refused where a process outside of these units has a GPU open."""
    foreign = [one for one in holders() if one.unit not in apart_from]
    if foreign:
        named = ", ".join(f"{one.pid} ({one.comm})" for one in foreign[:MOST_NAMED])
        raise Refused("denied", f"a GPU is open in process {named}")


def computing() -> list[int]:
    """Return the pids that the driver says compute or draw; asked in a process of its own."""
    found: set[int] = set()
    pynvml.nvmlInitWithFlags(0)
    for index in range(pynvml.nvmlDeviceGetCount()):
        gpu = nvml_calls.Gpu(pynvml.nvmlDeviceGetHandleByIndex(index))
        for kind in ("Compute", "Graphics"):
            told = gpu.call(kind, (f"nvmlDeviceGet{kind}RunningProcesses_v3",)) or ()
            found |= {int(one.pid) for one in told}
    return sorted(found)
