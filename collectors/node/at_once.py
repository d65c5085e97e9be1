"""Work side by side: each part on a branch of the node's time, so that waits do not add up."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from collectors.node.protocol import Node

T = TypeVar("T")


async def at_once(node: Node, works: Sequence[Callable[[Node], Awaitable[T]]]) -> list[T]:
    """Return what each of *works* returns, in their order."""
    import asyncio  # noqa: PLC0415 - `explain` reads the collectors' shapes, and needs no event loop

    async def one(work: Callable[[Node], Awaitable[T]], branch: Node) -> T:
        return await work(branch)

    branches = [node.branch() for _ in works]
    async with asyncio.TaskGroup() as group:
        pairs = zip(works, branches, strict=True)
        tasks = [group.create_task(one(work, branch)) for work, branch in pairs]
    node.join(branches)
    return [task.result() for task in tasks]
