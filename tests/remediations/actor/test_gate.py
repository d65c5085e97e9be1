"""The gate of a real actor: what it opens, what it refuses, and what it writes down."""

import asyncio
import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen, run
from typing import Any

import pytest

from remediations.act.hand import Done, Objection
from tests.remediations.actors import Started, policy, wanted

pytestmark = pytest.mark.root
Start = Callable[..., Started]


def begun(actor: Started, remedy: str = "slurm.drain", **other: Any) -> str:
    opened = actor.ask("begin", **wanted(remedy, **other))
    assert isinstance(opened, Done), opened
    return str(opened.value["id"])


def why(actor: Started, verb: str, **args: Any) -> str:
    answer = actor.ask(verb, **args)
    assert isinstance(answer, Objection), answer
    return answer.why


def test_verb_is_done_within_its_action(start_actor: Start) -> None:
    """An action that is begun does its verb, ends, and is kept with both."""
    actor = start_actor("slurm.drain")
    action = begun(actor)
    did = actor.ask("put", id=action, name="a")
    actor.ask("end", id=action, outcome="done", said="well")
    state = actor.ask("state")
    assert isinstance(state, Done)
    history = [(one["remedy"], one["outcome"]) for one in state.value["history"]]
    assert (did, (actor.node / "is-a").exists(), history, state.value["open"]) == (
        Done({"n": 1, "said": "a is put"}),
        True,
        [("slurm.drain", "done")],
        [],
    )


def test_nothing_without_an_open_action(start_actor: Start) -> None:
    """A verb whose action was never begun, or is ended, is refused and changes nothing."""
    actor = start_actor("slurm.drain")
    never = why(actor, "put", id="0123456789abcdef", name="a")
    action = begun(actor)
    actor.ask("end", id=action, outcome="failed", said="not needed")
    ended = why(actor, "put", id=action, name="a")
    assert (never, ended, (actor.node / "done").exists()) == (
        "no open action is called 0123456789abcdef",
        f"no open action is called {action}",
        False,
    )


def test_mode_is_asked_of_the_policy(start_actor: Start) -> None:
    """A remedy that root has not turned on is refused; one turned off meanwhile may only undo."""
    actor = start_actor("slurm.drain")
    off = why(actor, "begin", **wanted("gpu.reset"))
    action = begun(actor)
    actor.ask("put", id=action, name="a")
    policy(actor.policy, "slurm.drain", mode="advise")
    again = why(actor, "put", id=action, name="b")
    undone = actor.ask("take", id=action, name="a")
    assert (off, again, undone) == (
        f"gpu.reset is in advise, not act, in {actor.policy}",
        f"slurm.drain is in advise, not act, in {actor.policy}",
        Done({"n": 2, "said": "a is taken"}),
    )


def test_policy_of_others_is_refused(start_actor: Start) -> None:
    """A policy that others can write lets nothing act, and the line says what to do."""
    actor = start_actor("slurm.drain")
    actor.policy.chmod(0o666)
    assert why(actor, "begin", **wanted("slurm.drain")) == (
        f"{actor.policy} is refused: chown root {actor.policy}; chmod go-w {actor.policy}"
    )


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"boot_id": "another"}, "the boot id is not this boot's: look again, then ask again"),
        ({"lease": ""}, "slurm.drain takes something away: no lease, no act"),
        ({"remedy": "node.burn"}, "there is no remedy node.burn"),
        ({"fault": "a\nb"}, "fault must be one line of at most 500 characters"),
        ({"subject": "x" * 501}, "subject must be one line of at most 500 characters"),
        ({"deadline_s": "60"}, "deadline_s='60' is no argument of this verb"),
        ({"deadline_s": True}, "deadline_s=True is no argument of this verb"),
        ({"policy": "/tmp/mine"}, "policy='/tmp/mine' is no argument of this verb"),
    ],
)
def test_begin_refuses(start_actor: Start, other: dict[str, Any], reason: str) -> None:
    """What is asked wrongly is refused with one sentence."""
    actor = start_actor("slurm.drain")
    assert reason == why(actor, "begin", **{**wanted("slurm.drain"), **other})


def test_one_action_at_a_time(start_actor: Start) -> None:
    """While an action is open no other begins, whoever asks."""
    actor = start_actor("slurm.drain", "gpu.reset")
    action = begun(actor)
    assert why(actor, "begin", **wanted("gpu.reset")) == (
        f"action {action} (slurm.drain) is open: finish it first"
    )


def test_cool_down(start_actor: Start) -> None:
    """What was done is not done again within its cool-down; what was only begun may be."""
    actor = start_actor("slurm.drain")
    first = begun(actor)
    actor.ask("end", id=first, outcome="failed", said="no lease")
    second = begun(actor)
    actor.ask("put", id=second, name="a")
    actor.ask("end", id=second, outcome="done", said="well")
    assert why(actor, "begin", **wanted("slurm.drain")) == (
        "slurm.drain was done a short while ago: not again for 15 min"
    )


def test_remedy_may_not_use_the_verb_of_another(start_actor: Start) -> None:
    """An open action of one remedy does not open another remedy's verbs."""
    actor = start_actor("gpu.power_cap", "slurm.drain")
    action = begun(actor, "gpu.power_cap")
    assert why(actor, "put", id=action, name="a") == "gpu.power_cap may not use put"


def test_refused_verb_is_no_unknown(start_actor: Start) -> None:
    """A verb whose own precondition fails is written down as not done."""
    actor = start_actor("slurm.drain")
    (actor.node / "refuse-a").touch()
    action = begun(actor)
    refused = why(actor, "put", id=action, name="a")
    state = actor.ask("state")
    assert isinstance(state, Done)
    assert (refused, state.value["open"][0]["steps"]) == (
        "the node says no",
        [
            {
                "n": 1,
                "verb": "put",
                "args": {"name": "a"},
                "outcome": {"ok": False, "said": "the node says no"},
            }
        ],
    )


def test_no_actor_no_change(start_actor: Start) -> None:
    """Without an actor each verb is answered by one sentence."""
    actor = start_actor("slurm.drain")
    actor.kill()
    assert "no actor is running" == why(actor, "begin", **wanted("slurm.drain"))


@pytest.mark.serial
def test_never_a_node_with_another_duty(start_actor: Start, tmp_path: Path) -> None:
    """While slurmctld runs here nothing is taken away; the actor looks itself, whoever asks."""
    actor = start_actor("slurm.drain", within=())
    controller = tmp_path / "slurmctld"
    shutil.copy("/bin/sleep", controller)
    running = Popen([str(controller), "60"])
    try:
        said = why(actor, "begin", **wanted("slurm.drain"))
    finally:
        running.kill()
        running.wait()
    assert ("this node is needed by others", True) == (said.partition(":")[0], "slurmctld" in said)


def test_one_acts_at_a_time(start_actor: Start) -> None:
    """Who acts is alone in it for as long as it is there; when it hangs up, the next one may."""
    actor = start_actor("slurm.drain")

    async def two() -> list[str]:
        said = []
        async with actor.hand.attended() as first, actor.hand.attended() as second:
            said += [one.why if one else "may" for one in (first, second)]
        # The session behind the first one ends on its own time.
        async with asyncio.timeout(10):
            while True:
                async with actor.hand.attended() as third:
                    if third is None:
                        return [*said, "may"]

    assert ["may", "another process acts on this node right now", "may"] == asyncio.run(two())


def test_what_is_kept_is_proved_too(start_actor: Start) -> None:
    """What needs no action of its own is refused where its remedy is not allowed, in full."""
    actor = start_actor("gpu.power_cap")
    policy(actor.policy, "gpu.power_cap", mode="advise")
    advised = why(actor, "renew_caps")
    actor.policy.write_text('[mode]\n"gpu.power_cap" = "act"\n')
    unproved = why(actor, "renew_caps")
    assert ("gpu.power_cap is in advise, not act", "gpu.power_cap is not proved") == (
        advised.partition(", in ")[0],
        unproved.partition(",")[0],
    )


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a", "b\nc"], "names must be one line of at most 500 characters"),
        (["a"] * 65, "names must be at most 64 items"),
        (["a", 1], "names=['a', 1] is no argument of this verb"),
    ],
)
def test_lists_are_bounded(start_actor: Start, names: list[Any], reason: str) -> None:
    """What stands in a list is held to what stands alone."""
    actor = start_actor("slurm.drain")
    assert (Done(2), reason) == (
        actor.ask("many", names=["a", "b"]),
        why(actor, "many", names=names),
    )


def test_a_full_disk_lets_nothing_act(tmp_path: Path) -> None:
    """What cannot be written down is not done; with room again it is, and nothing is lost."""
    actor = Started(tmp_path, "slurm.drain")
    actor.state.mkdir()
    run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", actor.state], check=True)
    try:
        actor.start()
        action = begun(actor)
        full = actor.state / "full"
        with contextlib.suppress(OSError), full.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        # The last page of the journal has room yet for a line or two.
        refused = [actor.ask("put", id=action, name=f"a{n}" + "x" * 400) for n in range(12)]
        did = len(actor.done())
        done = sum(isinstance(one, Done) for one in refused)
        full.unlink()
        state = actor.ask("state")
        assert isinstance(state, Done)
        written = [step["outcome"] for step in state.value["open"][0]["steps"]]
    finally:
        actor.kill()
        run(["umount", actor.state], check=True)
    assert (True, True) == (isinstance(refused[-1], Objection), done <= did <= len(written))
