"""Shared memory of the host."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.subject import Subject
from collectors.host.mounts import Mounts
from diagnostics.check import Limits, check
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen, Well, found

POINT = "/dev/shm"  # noqa: S108 - the mount that is judged, no file of ours
GIB = 2**30


class ShmLimits(Limits, frozen=True, kw_only=True):
    """When /dev/shm counts as full; both must hold."""

    free_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="share that must stay free")
    ] = 5.0
    free_gib: Annotated[float, msgspec.Meta(ge=0, description="as much free is enough")] = 1.0


@check("host.shm", stage="processes", faults=("shm_exhausted",), proved="real-tool")
def shm(seen: Mounts, limits: ShmLimits) -> Iterator[Statement]:
    """Shared memory has room for the buffers of NCCL and of the data loaders.

    A rank that writes past its end gets SIGBUS, which looks like a broken program. Only the node's
    own is seen; a container has another.
    """
    mount = next((m for m in seen.mounts if m.point == POINT or POINT in m.others), None)
    subject = Subject(kind="mount", name=POINT)
    if mount is None:
        yield NotApplicable(why=f"nothing is mounted at {POINT}")
    elif mount.missing is not None:
        yield Unseen(missing=mount.missing, subject=subject)
    elif mount.room is None or not mount.room.size_bytes:
        yield NotApplicable(why=f"{POINT} has no size of its own")
    else:
        free, size = mount.room.free_bytes / GIB, mount.room.size_bytes / GIB
        percent = round(100.0 * free / size, 1)
        if percent < limits.free_percent and free < limits.free_gib:
            values = {"free_bytes": mount.room.free_bytes, "size_bytes": mount.room.size_bytes}
            yield found(
                "shm_exhausted",
                "warning",
                subject,
                "{percent:g} % of /dev/shm is free ({free} of {size} GiB)",
                Evidence(source=f"statfs {POINT}", values=values),
                percent=percent,
                free=f"{free:.2f}",
                size=f"{size:.2f}",
            )
        else:
            yield Well(message=f"{percent:g} % of /dev/shm is free ({free:.1f} of {size:.1f} GiB)")
