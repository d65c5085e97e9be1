"""A reset by the actor itself: its gate, its journal, and what a kill in the middle leaves."""

import asyncio
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from collectors.helpers.children import tools
from remediations.act.hand import Done, Objection
from tests.remediations.actor.resettable import PERSISTENCED, Resettable, node
from tests.remediations.actors import Started, wanted

__all__ = ["node"]
pytestmark = [pytest.mark.root, pytest.mark.serial]
Start = Callable[..., Started]
ONE = ["0001:10:00.0"]


def started(start_actor: Start, node: Resettable) -> Started:
    env = {"GPUDIAG_TEST_TOOLS": json.dumps(tools.given), "PLAN": str(node.folder / "plan")}
    os.environ.pop("RUNTIME_DIRECTORY", None)
    return start_actor("gpu.reset", env=env)


def begun(actor: Started) -> str:
    opened = actor.ask("begin", **wanted("gpu.reset"))
    assert isinstance(opened, Done), opened
    return str(opened.value["id"])


def reset(actor: Started, id_: str) -> Done | Objection:
    asked = actor.hand.ask("gpu_reset", {"id": id_, "gpus": ONE}, deadline_s=30.0)
    return asyncio.run(asked)


def test_to_its_end(start_actor: Start, node: Resettable) -> None:
    """By an open action alone, and the question knows it by that action."""
    actor = started(start_actor, node)
    without = reset(actor, "none")
    id_ = begun(actor)
    before = actor.ask("gpus_were_reset", gpus=ONE)
    done = reset(actor, id_)
    after = actor.ask("gpus_were_reset", gpus=ONE)
    assert isinstance(without, Objection)
    said = Done({"n": 1, "said": "reset: 0001:10:00.0"})
    assert (Done(value=False), said, Done(value=True)) == (before, done, after)


def test_killed_in_the_middle(start_actor: Start, node: Resettable) -> None:
    """The next start runs the services again; whether it was reset nobody says."""
    node.put("hangs")
    actor = started(start_actor, node)
    id_ = begun(actor)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(reset, actor, id_)
        _until(lambda: bool(node.resets()))
        actor.kill()
        lost = asked.result()
    active = node.folder / f"active-{PERSISTENCED}"
    stopped = not active.exists()
    actor.start()
    _until(active.exists)
    known = actor.ask("gpus_were_reset", gpus=ONE)
    assert isinstance(lost, Objection)
    assert isinstance(known, Objection)
    expected = (True, True, "the reset was begun, and nobody knows how it ended", 1)
    assert expected == (lost.lost, stopped, known.why, len(node.resets()))


def _until(true: Callable[[], bool]) -> None:
    # Its tick comes every 30 s: one that came too early for a process that still died comes again.
    end = time.monotonic() + 45
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)
