"""Questions that may each wait for a dead device, asked side by side."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from collectors.node.protocol import Node

T = TypeVar("T")


async def at_once(node: Node, asks: Sequence[Callable[[Node], Awaitable[T]]]) -> list[T]:
    """Return the answers in the order of *asks*, each asked on a branch of the node's time."""
    import asyncio  # noqa: PLC0415 - `explain` reads the shapes beside this, and needs no event loop

    async def one(ask: Callable[[Node], Awaitable[T]], branch: Node) -> T:
        return await ask(branch)

    branches = [node.branch() for _ in asks]
    async with asyncio.TaskGroup() as group:
        pairs = zip(asks, branches, strict=True)
        tasks = [group.create_task(one(ask, branch)) for ask, branch in pairs]
    node.join(branches)
    return [task.result() for task in tasks]
