"""The driver is let go of within 2 s, and left alone for as long as was asked."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.daemon.keeping import Keeping
from agent.daemon.releasing import Releasing
from collectors.facts.observation import Cause, Missing
from collectors.node.live import Live


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Keeping]:
    kept = Keeping(tmp_path)
    yield kept
    kept.close(10.0)


async def asked(node: Live) -> Any:
    """Ask the helper that opens the driver's control device."""
    return await node.ask("device_nodes")


async def test_a_released_driver_is_closed_and_not_opened_again(keeping: Keeping) -> None:
    """The helper's process is gone in 2 s; questions are held back; 0 ends it."""
    node = Live()
    node.share_helpers()
    releasing = Releasing(node, keeping)
    before = await asked(node)
    pids = {helper.resource: helper.pid for helper in node.helpers()}
    began = time.monotonic()
    left = await releasing.release(600.0)
    took = time.monotonic() - began
    held, until = await asked(node), releasing.until
    await releasing.look()
    still = await asked(node)
    await releasing.release(0.0)
    after = await asked(node)
    await node.close()
    gone = not os.path.exists(f"/proc/{pids['device_nodes']}")  # noqa: ASYNC240, PTH110 - a test may wait

    assert isinstance(held, Missing)
    assert isinstance(still, Missing)
    assert (True, [], True, Cause.HELD_BACK, Cause.HELD_BACK, True, True, None) == (
        isinstance(before, dict),
        left,
        took < 2.0,
        held.cause,
        still.cause,
        isinstance(after, dict),
        gone and until is not None,
        releasing.until,
    )


async def test_a_restart_keeps_off_too(keeping: Keeping) -> None:
    """The next run knows until when, before anything of it asks the driver."""
    first, second = Live(), Live()
    await Releasing(first, keeping).release(600.0)
    await first.close()
    await Releasing(second, keeping).look()
    held = await asked(second)
    await second.close()

    assert isinstance(held, Missing)
    assert (Cause.HELD_BACK, True) == (held.cause, "were released until" in held.detail)


async def test_a_time_that_is_over_holds_nothing_back(keeping: Keeping) -> None:
    """A release of the past is forgotten at the start."""
    node = Live()
    keeping.release(time.time() - 1.0)
    releasing = Releasing(node, keeping)
    await releasing.look()
    answer = await asked(node)
    await node.close()

    assert (None, True) == (releasing.until, isinstance(answer, dict))
