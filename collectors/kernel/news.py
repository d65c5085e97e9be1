"""Whether the kernel has said something since it was last asked."""

from collectors.facts.observation import Cause, Missing
from collectors.node.protocol import Node

WAIT_S = 30
SLACK_S = 5.0


async def news(node: Node) -> bool | Missing:
    """Wait for the kernel to say something; False where it said nothing in WAIT_S."""
    said = await node.ask("kernel_news", deadline_s=WAIT_S + SLACK_S, wait_s=WAIT_S)
    if isinstance(said, bool | Missing):
        return said
    return Missing(what="kernel_news", cause=Cause.GARBLED, detail="neither yes nor no")
