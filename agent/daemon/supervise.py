"""Keep a service running: restart it with growing pauses; a cancel goes through."""

import asyncio
from collections.abc import Awaitable, Callable

from agent.daemon.log import Log

FIRST_S, LONGEST_S = 1.0, 60.0
# A service that ran this long had recovered: its next end is a new one.
WELL_S = 300.0


async def supervise(
    name: str,
    service: Callable[[], Awaitable[None]],
    log: Log,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Run *service* until cancelled; one that ends or raises is started again."""
    pause = FIRST_S
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        try:
            await service()
        except Exception as problem:
            log.exception("service_failed", service=name, problem=repr(problem)[:300])
        else:
            log.error("service_ended", service=name)
        if clock() - began > WELL_S:
            pause = FIRST_S
        await sleep(pause)
        pause = min(pause * 2, LONGEST_S)
