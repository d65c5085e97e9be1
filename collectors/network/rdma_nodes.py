"""The device nodes of RDMA devices: there, of the right number, and open to jobs."""

from collections.abc import Mapping

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

# uverbs0 is what programs open, umad0 what management tools open; both tell their number.
CLASSES = ("/sys/class/infiniband_verbs/uverbs*/dev", "/sys/class/infiniband_mad/umad*/dev")


class RdmaNode(msgspec.Struct, frozen=True, kw_only=True):
    """One file below /dev/infiniband; `mode` are its permission bits."""

    name: str
    mode: int
    number: str


class RdmaNodes(Observation, frozen=True, kw_only=True):
    """`wanted` are the nodes that the kernel's devices ask for, name to number; `nodes` is /dev."""

    wanted: Mapping[str, str] = {}
    nodes: tuple[RdmaNode, ...] = ()


async def collect(node: Node, wanted: Wanted) -> RdmaNodes | Missing:
    """Read which nodes there should be, and ask which there are."""
    del wanted
    seen = await node.files(*CLASSES, cap=64)
    if isinstance(seen, Missing):
        return seen
    meant = {path.split("/")[-2]: text.strip() for path, text in seen.texts.items()}
    if not meant:
        return RdmaNodes()
    answer = await node.ask("rdma_nodes")
    if isinstance(answer, Missing):
        return answer
    try:
        nodes = msgspec.convert(answer, tuple[RdmaNode, ...])
    except msgspec.ValidationError as problem:
        return Missing(what="RdmaNodes", cause=Cause.GARBLED, detail=str(problem)[:200])
    return RdmaNodes(wanted=meant, nodes=nodes)
