"""Agent and actor killed at any moment, again and again: nothing is done twice, nothing forgotten.

Five rounds here; GPUDIAG_KILLS=200 in `make soak`.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from subprocess import DEVNULL, PIPE, Popen, run

import pytest

from remediations.act.hand import Done
from tests.remediations.actors import Started

pytestmark = [pytest.mark.root, pytest.mark.timeout(1800)]
Start = Callable[..., Started]
KILLS = int(os.environ.get("GPUDIAG_KILLS", "5"))
AGENT = "tests.remediations.act.agent"


def argv(actor: Started, what: str) -> list[str]:
    return [sys.executable, "-m", AGENT, str(actor.socket), str(actor.folder), what]


def right(actor: Started) -> tuple[str, list[str], list[str]]:
    """Return how the newest action ended, what it did, and what is there of it now."""
    state = actor.ask("state")
    assert isinstance(state, Done)
    outcome = state.value["history"][-1]["outcome"] if state.value["history"] else "none"
    there = sorted(path.name for path in actor.node.glob("is-*"))
    return outcome, actor.done(), there


# What the node may look like at the end, by how the action ended.
RIGHT = {
    "none": ([], []),
    "failed": ([], []),
    "done": (["put a", "put b"], ["is-a", "is-b"]),
}


def test_killed_at_any_moment(start_actor: Start) -> None:
    """However it is killed: done, or never done, or taken back; no deed is there twice."""
    actor = start_actor("slurm.drain")
    chance = random.Random(20_260_114)  # noqa: S311 - repeatable
    ways: Counter[str] = Counter()
    for _ in range(KILLS):
        for path in (*actor.node.iterdir(), actor.state / "journal.jsonl"):
            path.unlink(missing_ok=True)
        (actor.node / "slow-a").touch()
        (actor.node / "slow-b").touch()
        agent = Popen(argv(actor, "execute"), stdout=DEVNULL, start_new_session=True)
        time.sleep(chance.uniform(0.2, 3.2))
        whom = chance.choice(["agent", "actor", "both"])
        if whom != "actor":
            agent.send_signal(signal.SIGKILL)
        if whom != "agent":
            actor.kill()
            actor.start()
        agent.wait(timeout=60)
        for _ in range(3):
            said = run(argv(actor, "recover"), stdout=PIPE, text=True, check=True, timeout=120)
            if "open:" not in said.stdout:
                break
        outcome, did, there = right(actor)
        ways[outcome] += 1
        expected = RIGHT.get(outcome) or (did, [])
        # Taken back: each deed once, and its undoing once, the last first.
        puts = [one for one in did if one.startswith("put")]
        takes = [one.replace("take", "put") for one in did if one.startswith("take")]
        undone = outcome != "rolled_back" or (takes == puts[::-1])
        assert (expected, True, len(set(puts))) == ((did, there), undone, len(puts)), whom
    assert KILLS == sum(ways[one] for one in ("none", "failed", "done", "rolled_back"))
