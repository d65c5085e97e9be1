"""How much memory the ranks of running jobs may lock: RDMA locks all that it sends from."""

import re

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.host.holders import GpuHolders
from collectors.node.protocol import Node

MOST_RANKS = 64
# Max locked memory         8388608              8388608              bytes
LIMIT = re.compile(r"^Max locked memory\s+(\d{1,20}|unlimited)\s", re.MULTILINE)
# CapEff:	000001ffffffffff
EFFECTIVE = re.compile(r"^CapEff:\s+([0-9a-f]{1,16})$", re.MULTILINE)
# CAP_IPC_LOCK of linux/capability.h: whoever has it is bound by no limit.
IPC_LOCK = 1 << 14


class LockLimit(msgspec.Struct, frozen=True, kw_only=True):
    """One rank's limit in bytes; None where it has none."""

    pid: int
    rank: int
    job: str | None = None
    most_bytes: int | None = None


class LockLimits(Observation, frozen=True, kw_only=True):
    """The ranks that hold GPUs here, by pid."""

    ranks: tuple[LockLimit, ...] = ()


async def collect(
    node: Node, wanted: Wanted, holders: GpuHolders | Missing
) -> LockLimits | Missing:
    """Read the limits of those that hold a GPU as a rank of a job."""
    del wanted
    if isinstance(holders, Missing):
        return holders
    ranks = [h for h in holders.holders if h.rank is not None and h.minors][:MOST_RANKS]
    if not ranks:
        return LockLimits()
    paths = [f"/proc/{h.pid}/{name}" for h in ranks for name in ("limits", "status")]
    seen = await node.files(*paths, cap=8192)
    if isinstance(seen, Missing):
        return seen
    found = {h.pid: limit(seen, h.pid) for h in ranks}
    return LockLimits(
        ranks=tuple(
            LockLimit(pid=h.pid, rank=h.rank or 0, job=h.job, most_bytes=found[h.pid])
            for h in ranks
            if f"/proc/{h.pid}/limits" in seen.texts
        )
    )


def limit(seen: Files, pid: int) -> int | None:
    """Return a process's limit in bytes; None for no limit, and where it is bound by none."""
    hit = LIMIT.search(seen.get(f"/proc/{pid}/limits") or "")
    rights = EFFECTIVE.search(seen.get(f"/proc/{pid}/status") or "")
    if hit is None or hit[1] == "unlimited" or (rights and int(rights[1], 16) & IPC_LOCK):
        return None
    return int(hit[1])
