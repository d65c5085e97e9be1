"""Whether people work on this node: by Slurm's word, or by that of the aggregator's operators."""

import msgspec

from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.node_reason import NodeReason
from collectors.node.protocol import Node

# Written by the agent, from what the aggregator answered last.
TOLD = "/var/lib/gpudiag/maintenance.json"
FILE_CAP = 4096
LONGEST = 160
# How Slurm names a node in a reservation with the flag MAINT, by command and version.
#    State=IDLE+MAINTENANCE+RESERVED ThreadsPerCore=1 ...
STATES = frozenset({"MAINT", "MAINTENANCE"})


class Maintenance(Observation, frozen=True, kw_only=True):
    """Who says so (`slurm`, or an operator's name), None where nobody does.

    `until` is epoch seconds, None where no end is known; `source` and `text` are where it stands.
    `heard` is whether the aggregator said anything at all.
    """

    heard: bool = False
    by: str | None = None
    reason: str | None = None
    until: float | None = None
    source: str = ""
    text: str | None = None


class _File(msgspec.Struct, frozen=True):
    node: str
    until: float
    reason: str = ""
    by: str = ""


async def collect(node: Node, wanted: Wanted, slurm: NodeReason | Missing) -> Maintenance | Missing:
    """Take Slurm's state of the node, else what the aggregator told; blind only without both."""
    del wanted
    return await found(node, slurm, TOLD)


async def found(node: Node, slurm: NodeReason | Missing, path: str) -> Maintenance | Missing:
    """Do so by the file of an agent that keeps it at *path*."""
    if isinstance(slurm, NodeReason) and STATES & set(slurm.states):
        text = f"State={'+'.join(slurm.states)}"
        return Maintenance(by="slurm", reason=slurm.reason, source="scontrol show node", text=text)
    seen = await node.files(path, cap=FILE_CAP)
    if isinstance(seen, Missing):
        return slurm if isinstance(slurm, Missing) else Maintenance()
    return told(seen.get(path) or "", (await node.identity()).node, node.now(), path)


def told(text: str, node: str, now: float, path: str = TOLD) -> Maintenance:
    """Return what the aggregator told of this node, where it is not over."""
    try:
        kept = msgspec.json.decode(text, type=_File)
    except msgspec.DecodeError:
        return Maintenance()
    if kept.node != node:
        return Maintenance()
    if not now < kept.until:
        return Maintenance(heard=True)
    return Maintenance(
        heard=True,
        by=kept.by[:LONGEST] or "an operator",
        reason=kept.reason[:LONGEST] or None,
        until=kept.until,
        source=path,
    )
