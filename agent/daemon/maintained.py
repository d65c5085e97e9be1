"""What the aggregator says of people who work on this node, kept for the collector that reads it.

The file outlives a reboot, which maintenance often is, and ends by itself at the time it names.
"""

from functools import partial
from pathlib import Path, PurePosixPath

import msgspec

from agent.daemon import state
from aggregator.wire import Maintained
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.jobs.maintenance import TOLD, Maintenance, found
from collectors.jobs.node_reason import NodeReason
from collectors.node.protocol import Node

NAME = PurePosixPath(TOLD).name


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The file; `until` is epoch seconds, 0 where nobody works on the node."""

    node: str
    until: float = 0.0
    reason: str = ""
    by: str = ""


class KeptMaintenance:
    """Writes what a receipt says where it is another word than the last one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._node: str | None = None
        self._said: Kept | None = None
        self._writer: state.Writer | None = None

    def begin(self, node: str) -> None:
        """Say how this node is called: a copied disk tells nothing of it."""
        self._node = node

    def told(self, said: Maintained | None) -> None:
        """Take the aggregator's word; returns at once."""
        if self._node is None:
            return
        now = Kept(node=self._node)
        if said is not None:
            now = Kept(node=self._node, until=said.until, reason=said.reason, by=said.by)
        if now == self._said:
            return
        self._said = now
        if self._writer is None:
            self._writer = state.Writer(self._folder, partial(state.write, name=NAME), NAME)
        self._writer.put(now)

    async def collect(
        self, node: Node, wanted: Wanted, slurm: NodeReason | Missing
    ) -> Maintenance | Missing:
        """Look as the shipped collector does, and read the file of this folder."""
        del wanted
        return await found(node, slurm, str(self._folder / NAME))

    def close(self, patience_s: float = 0.5) -> bool:
        """Write what waits; return whether that was done in time. Not for the loop: it waits."""
        return self._writer is None or self._writer.close(patience_s)
