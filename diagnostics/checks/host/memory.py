"""Host memory."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.host.memory import MEMINFO, PRESSURE, HostMemory
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, Statement, Well, found

GIB = 2**30


class MemoryLimits(Limits, frozen=True, kw_only=True):
    """When a host is short of memory."""

    stall_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="share of a minute in which all tasks waited")
    ] = 10.0
    available_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="memory that can still be had")
    ] = 1.0
    available_gib: Annotated[
        float, msgspec.Meta(ge=0, description="as much left is enough, whatever the share")
    ] = 2.0


@check("host.memory", stage="processes", faults=("host_memory_pressure",), proved="recorded")
def memory(seen: HostMemory, limits: MemoryLimits) -> Iterator[Statement]:
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
