"""Open files: of the whole system, and of each process on a GPU."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.host.descriptors import PATH, FileDescriptors
from collectors.host.holders import GpuHolders, Holder
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, Statement, Well, found


class DescriptorLimits(Limits, frozen=True, kw_only=True):
    """How much of a limit may be used."""

    used_percent: Annotated[
        float, msgspec.Meta(gt=0, le=100, description="of the limit on open files")
    ] = 80.0


@check(
    "host.file_descriptors",
    stage="processes",
    faults=("file_descriptors_exhausted",),
    proved="recorded",
)
def file_descriptors(
    seen: FileDescriptors, holders: GpuHolders | Missing, limits: DescriptorLimits
) -> Iterator[Statement]:
    """Neither the system nor a process on a GPU is near its limit of open files.

    At the limit a loader cannot open its shard and NCCL no socket, in the middle of a run and with
    an error that names neither. Processes that are not on a GPU are not looked at.
    """
    percent = round(100.0 * seen.used / max(seen.most, 1), 1)
    if percent > limits.used_percent:
        yield found(
            "file_descriptors_exhausted",
            "warning",
            NODE,
            "{used} files are open on the node, {percent:g} % of the {most} that the kernel allows",
            Evidence(source=PATH, text=seen.text),
            used=seen.used,
            most=seen.most,
            percent=percent,
        )
    for holder in () if isinstance(holders, Missing) else holders.holders:
        if holder.fd_limit and 100.0 * holder.fds / holder.fd_limit > limits.used_percent:
            yield _near(holder, holder.fd_limit)
    yield Well(message=f"{seen.used} files are open on the node, {percent:g} % of the limit")


def _near(holder: Holder, limit: int) -> Statement:
    return found(
        "file_descriptors_exhausted",
        "warning",
        Subject(kind="process", name=str(holder.pid), pid=holder.pid, job=holder.job),
        "process {pid} ({comm}) has {fds} files open of the {limit} that it may have",
        Evidence(source=f"/proc/{holder.pid}/fd", values={"open": holder.fds, "soft_limit": limit}),
        variant="process",
        pid=holder.pid,
        comm=holder.comm,
        fds=holder.fds,
        limit=limit,
    )
