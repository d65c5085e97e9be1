"""The gate against who would use it for more than root allows, or keep others from it."""

import contextlib
import json
import os
import pwd
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remediations.act.hand import Done
from remediations.actor import abandoned, serve
from remediations.actor.clock import boot_id
from tests.remediations.actor.test_gate import begun, why
from tests.remediations.actors import Started, wanted

pytestmark = pytest.mark.root
Start = Callable[..., Started]


def test_what_nobody_knows_counts(start_actor: Start) -> None:
    """A step that ended in an error nobody expected may have been done: it is settled, and counts.

    Else whoever asks could have it done as often as he likes, and say each time that it was not.
    """
    actor = start_actor("slurm.drain")
    action = begun(actor)
    actor.ask("put", id=action, name="no/folder")
    going_on = why(actor, "put", id=action, name="a")
    actor.ask("settle", id=action, n=1, ok=False, said="it was not done")
    actor.ask("end", id=action, outcome="failed", said="it was not done")

    assert (going_on, why(actor, "begin", **wanted("slurm.drain"))) == (
        "step 1 (put) has no outcome: settle it first",
        "slurm.drain was done a short while ago: not again for 15 min",
    )


def test_only_what_was_done_is_taken_back(start_actor: Start) -> None:
    """A way back is none for what somebody else did, or another action, or with other words."""
    actor = start_actor("slurm.drain")
    action = begun(actor)
    never = why(actor, "take", id=action, name="a")
    actor.ask("put", id=action, name="a")
    other = why(actor, "take", id=action, name="b")

    assert (never, other, actor.done()) == (
        "take takes back put, which was not done so here",
        "take takes back put, which was not done so here",
        ["put a"],
    )


@pytest.mark.parametrize(
    ("remedy", "verb"), [("slurm.drain", "slurm_resume"), ("slurm.resume", "slurm_drain")]
)
def test_one_remedy_is_no_way_into_another(start_actor: Start, remedy: str, verb: str) -> None:
    """Whoever may drain alone resumes nothing but his own drain, and the other way round.

    A resume asks for no lease and is on no ladder: it must not be a way to take a node out.
    """
    actor = start_actor(remedy)
    action = begun(actor, remedy)
    of = {"slurm_resume": "slurm_drain", "slurm_drain": "slurm_resume"}[verb]

    assert why(actor, verb, id=action, reason="gpudiag: gpu_lost gpu 1 incident 9f") == (
        f"{verb} takes back {of}, which was not done so here"
    )


@pytest.mark.parametrize("hours", [1.5, -9000.0])
def test_what_nobody_finishes_is_handed_over(start_actor: Start, hours: float) -> None:
    """Whoever began it is gone: an hour after its deadline it is open no more, and counts.

    So, too, where the clock was set back by a year and the node booted anew: then it is long over.
    """
    actor = start_actor("slurm.drain")
    action = begun(actor)
    actor.ask("put", id=action, name="a")
    actor.kill()
    actor.age(hours)
    path = actor.state / "journal.jsonl"
    another = "0" * 36 if hours < 0 else boot_id()
    path.write_text(path.read_text().replace(boot_id(), another))
    actor.start()
    end = time.monotonic() + 10
    while (told := state(actor))["open"] and time.monotonic() < end:
        time.sleep(0.05)

    assert ([], [("handed_over", True)]) == (
        told["open"],
        [(one["outcome"], one["touched"]) for one in told["history"]],
    )


def test_a_look_for_what_is_abandoned_holds_up_no_step(start_actor: Start) -> None:
    """While nothing is, it takes no lock: a step that came meanwhile would be refused."""
    actor = start_actor("slurm.drain")
    begun(actor)
    actor.kill()
    lock = actor.state / "act.lock"
    lock.unlink(missing_ok=True)
    abandoned.hand_over(actor.state, None)

    assert (False, True) == (lock.exists(), '"kind":"begin"' in actor.journal()[0])


def state(actor: Started) -> dict[str, Any]:
    answer = actor.ask("state")
    assert isinstance(answer, Done)
    return dict(answer.value)


def test_a_captured_agent_keeps_no_person_out(start_actor: Start, tmp_path: Path) -> None:
    """It may take every place and never ask: root is let in all the same."""
    actor = start_actor("slurm.drain")
    actor.policy.write_text(actor.policy.read_text().replace("[]", '["nobody"]', 1))
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(0o755)
    with contextlib.ExitStack() as held:
        greeted = [knock(actor, held) for _ in range(serve.MOST_SESSIONS + 1)]
        answer = actor.ask("state")

    assert (["ok"] * serve.MOST_SESSIONS + ["missing"], True) == (
        [next(iter(json.loads(one))) for one in greeted],
        isinstance(answer, Done),
    )


def knock(actor: Started, held: contextlib.ExitStack) -> bytes:
    """Connect as another user, who stays; return how he is greeted."""
    link = held.enter_context(socket.socket(socket.AF_UNIX))
    link.settimeout(10)
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        link.connect(str(actor.socket))
    finally:
        os.seteuid(0)
    return link.recv(300)
