"""Whether the driver's device nodes can be opened; asked only where its module runs."""

from collections.abc import Mapping

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

INITSTATE = "/sys/module/nvidia/initstate"


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """Who may open a node: permission bits, owner and group."""

    mode: int
    uid: int
    gid: int


class DeviceNodes(Observation, frozen=True, kw_only=True):
    """What opening /dev/nvidiactl as `user` gave: an errno name, or None where it opened.

    `live` is false where the module does not run: nothing was opened then. `nodes` maps the paths
    of the driver's nodes to their rights.
    """

    live: bool = True
    error: str | None = None
    user: int = 0
    nodes: Mapping[str, Rights] = {}


async def collect(node: Node, wanted: Wanted) -> DeviceNodes | Missing:
    """Open the control node with our own rights."""
    del wanted
    seen = await node.files(INITSTATE)
    if isinstance(seen, Missing):
        return seen
    if seen.get(INITSTATE) != "live":
        return DeviceNodes(live=False)
    got = await node.ask("device_nodes", deadline_s=5.0)
    if isinstance(got, Missing):
        return got
    try:
        return msgspec.convert(got, DeviceNodes)
    except msgspec.ValidationError as problem:
        return Missing(what="DeviceNodes", cause=Cause.GARBLED, detail=str(problem))
