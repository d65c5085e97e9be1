"""Host memory."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.nvml import GpuSnapshot
from collectors.host.memory import MEMINFO, PRESSURE, HostMemory
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, Finding, Statement, Well, found

GIB = 2**30


class MemoryLimits(Limits, frozen=True, kw_only=True):
    """When a host is short of memory.

    No vendor's rule holds for all products: an HGX H100 has some three times its GPUs' memory, a
    GB200 board 1.3 times. Less than once is what no product is sold with.
    """

    stall_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="share of a minute in which all tasks waited")
    ] = 10.0
    available_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="memory that can still be had")
    ] = 1.0
    available_gib: Annotated[
        float, msgspec.Meta(ge=0, description="as much left is enough, whatever the share")
    ] = 2.0
    gpu_memory_ratio: Annotated[
        float, msgspec.Meta(ge=0, description="host memory as a multiple of all GPUs' memory")
    ] = 1.0


@check(
    "host.memory",
    stage="processes",
    faults=("host_memory_pressure", "host_memory_ratio_low"),
    proved="recorded",
)
def memory(
    seen: HostMemory, gpus: GpuSnapshot | Missing, limits: MemoryLimits
) -> Iterator[Statement]:
    """Tasks get host memory without waiting for it.

    Data loaders, pinned buffers and the page cache share it; when it runs short all ranks of the
    node slow down together, and the OOM killer ends one of them next.
    """
    left = f"{seen.available_bytes / GIB:.1f} of {seen.total_bytes / GIB:.1f} GiB"
    share = 100.0 * seen.available_bytes / max(seen.total_bytes, 1)
    if seen.full_percent is not None and seen.full_percent > limits.stall_percent:
        yield found(
            "host_memory_pressure",
            "warning",
            NODE,
            "all tasks waited for memory {percent} % of the last minute (limit {limit:g} %); "
            "{left} of host memory can still be had",
            Evidence(source=PRESSURE, text=seen.pressure_text, values={"full": seen.full_percent}),
            percent=seen.full_percent,
            limit=limits.stall_percent,
            left=left,
        )
    elif share < limits.available_percent and seen.available_bytes < limits.available_gib * GIB:
        yield found(
            "host_memory_pressure",
            "warning",
            NODE,
            "only {left} of host memory can still be had",
            Evidence(source=MEMINFO, values={"MemAvailable": seen.available_bytes}),
            variant="available",
            left=left,
        )
    else:
        stalls = "" if seen.full_percent is None else f", tasks waited {seen.full_percent:g} %"
        yield Well(message=f"{left} of host memory can be had{stalls}")
    if isinstance(gpus, GpuSnapshot):
        yield from _ratio(seen, gpus, limits)


def _ratio(seen: HostMemory, gpus: GpuSnapshot, limits: MemoryLimits) -> Iterator[Finding]:
    of_gpus = sum(gpu.memory_total_bytes or 0 for gpu in gpus.gpus)
    if seen.total_bytes >= limits.gpu_memory_ratio * of_gpus:
        return
    yield found(
        "host_memory_ratio_low",
        "info",
        NODE,
        "{have} GiB of host memory for {of_gpus} GiB of GPU memory (rule: {ratio:g} times)",
        Evidence(
            source=MEMINFO, values={"MemTotal": seen.total_bytes, "gpu_memory_bytes": of_gpus}
        ),
        have=round(seen.total_bytes / GIB),
        of_gpus=round(of_gpus / GIB),
        ratio=limits.gpu_memory_ratio,
    )
