"""Whether the network card can reach GPU memory itself: nvidia_peermem, or DMA-BUF's conditions."""

import re

from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

MODULE = "/sys/module/nvidia_peermem"
OLD_MODULE = "/sys/module/nv_peer_mem"
# Where a driver's peer client stands that the RDMA stack has accepted; the stack of the plain
# kernel has no such folder.
CLIENTS = "/sys/kernel/mm/memory_peers/*/version"
RELEASE = "/proc/sys/kernel/osrelease"
# 5.15.0-119-generic    6.8.0-45-generic
VERSION = re.compile(r"(\d{1,3})\.(\d{1,4})")


class PeerMemory(Observation, frozen=True, kw_only=True):
    """`loaded` module, `clients` that the RDMA stack knows, and the kernel's (major, minor)."""

    loaded: bool = False
    clients: tuple[str, ...] = ()
    kernel: tuple[int, int] | None = None


async def collect(node: Node, wanted: Wanted) -> PeerMemory | Missing:
    """See whether the module is there; nothing is loaded by looking."""
    del wanted
    seen = await node.files(CLIENTS, RELEASE, names=(MODULE, OLD_MODULE), cap=4096)
    if isinstance(seen, Missing):
        return seen
    return PeerMemory(
        loaded=MODULE in seen.texts or OLD_MODULE in seen.texts,
        clients=tuple(seen.names(CLIENTS)),
        kernel=release(seen.get(RELEASE) or ""),
    )


def release(text: str) -> tuple[int, int] | None:
    """Return a kernel release's first two numbers."""
    hit = VERSION.match(text)
    return (int(hit[1]), int(hit[2])) if hit else None
