"""A service that ends is started again, ever later; a cancel ends it."""

import asyncio
import itertools

from agent.daemon.supervise import supervise
from tests.agent.daemon.virtual import Said, for_a_while, virtually


def test_pauses_grow_to_a_minute() -> None:
    """A service that always fails is started after 1, 2, 4 ... 60, 60 s, and each time is said."""
    said, at = Said(), []

    async def failing() -> None:
        at.append(asyncio.get_running_loop().time())
        raise OSError("no port")

    virtually(lambda: for_a_while(supervise("metrics", failing, said), 250.0))
    pauses = [b - a for a, b in itertools.pairwise(at)]

    assert ([1, 2, 4, 8, 16, 32, 60, 60, 60], len(at)) == (
        pauses,
        len(said.of("service_failed")),
    )


def test_a_service_that_ran_well_starts_again_at_once() -> None:
    """A failure after an hour is a new one: its pause is 1 s again."""
    at = []

    async def hourly() -> None:
        at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(3600.0 if len(at) > 3 else 0.0)

    virtually(lambda: for_a_while(supervise("walk", hourly, Said()), 9000.0))

    assert [1, 2, 4, 3601] == [b - a for a, b in itertools.pairwise(at)][:4]


def test_a_cancel_goes_through() -> None:
    """Cancelling is not answered with a restart."""
    starts = []

    async def service() -> None:
        starts.append(1)
        await asyncio.sleep(1000.0)

    async def main() -> bool:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(supervise("walk", service, Said()))
            await asyncio.sleep(5.0)
            task.cancel()
        return task.cancelled()

    assert (True, [1]) == (virtually(main), starts)
