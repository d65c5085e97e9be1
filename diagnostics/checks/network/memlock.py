"""May the ranks of running jobs lock as much memory as RDMA needs."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.subject import Subject
from collectors.host.memlock import LockLimit, LockLimits
from collectors.network.ports import Ports
from diagnostics.check import Limits, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

MIB = 1 << 20
SHOWN = 8


class MemlockLimits(Limits, frozen=True, kw_only=True):
    """How little is too little (our default: login shells are given 64 KiB to 8 MiB)."""

    least_mib: Annotated[
        float, msgspec.Meta(ge=0, description="a rank that may lock less is a warning, in MiB")
    ] = 64.0


@check("network.memlock", stage="network", faults=("ib_memlock_limit",), proved="real-tool")
def memlock(seen: LockLimits, ports: Ports, limits: MemlockLimits) -> Iterator[Statement]:
    """Each rank on a node with RDMA ports may lock the memory that it sends from.

    Registration fails without it: "ibv_create_cq failed", "Cannot allocate memory", or NCCL goes
    over TCP. A limit is given at login, by the scheduler's daemon or by the container's runtime.
    """
    if not any(port.active and not port.virtual for port in ports.ports):
        yield NotApplicable(why="no InfiniBand or RoCE port is in use")
        return
    if not seen.ranks:
        yield NotApplicable(why="no rank of a job holds a GPU")
        return
    low: dict[tuple[str | None, int], list[LockLimit]] = {}
    for rank in seen.ranks:
        if rank.most_bytes is not None and rank.most_bytes < limits.least_mib * MIB:
            low.setdefault((rank.job, rank.most_bytes), []).append(rank)
    yield from (_low(ranks, limits) for ranks in low.values())
    if not low:
        yield Well(message=f"{len(seen.ranks)} ranks may lock the memory that RDMA needs")


def _low(ranks: list[LockLimit], limits: MemlockLimits) -> Finding:
    first = ranks[0]
    whose = f"of job {first.job}" if first.job else f"with pid {first.pid}"
    return found(
        "ib_memlock_limit",
        "warning",
        Subject(kind="job", name=first.job, job=first.job)
        if first.job
        else Subject(kind="process", name=str(first.pid), pid=first.pid),
        "{count} ranks {whose} may lock {kib:,} KiB of memory; RDMA needs {least:g} MiB or more",
        *(
            Evidence(
                source=f"/proc/{rank.pid}/limits", values={"max_locked_bytes": rank.most_bytes}
            )
            for rank in ranks[:SHOWN]
        ),
        count=len(ranks),
        whose=whose,
        kib=(first.most_bytes or 0) // 1024,
        least=limits.least_mib,
    )
