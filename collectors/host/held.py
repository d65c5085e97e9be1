"""Who has a GPU open: looked at once for all who must know, through each file of each process."""

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.owner import HeldDevices
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

DEVICES = "/dev/nvidia[0-9]*"


async def collect(node: Node, wanted: Wanted) -> HeldDevices | Missing:
    """Ask the reader who holds the devices, where there are any."""
    del wanted
    seen = await node.files(names=(DEVICES,))
    if isinstance(seen, Missing):
        return seen
    devices = len(seen.names(DEVICES))
    if not devices:
        return HeldDevices()
    answer = await node.ask("holders", deadline_s=5.0)
    if isinstance(answer, Missing):
        return answer
    try:
        held = msgspec.convert(answer, HeldDevices)
    except msgspec.ValidationError as problem:
        return Missing(what="holders", cause=Cause.GARBLED, detail=str(problem))
    return msgspec.structs.replace(held, devices=devices)
