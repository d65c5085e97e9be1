"""An action from its evidence to its end, by a real actor; killed in every state, and finished."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen, run

import pytest

from remediations.act.hand import Done
from tests.remediations.actors import Started

pytestmark = pytest.mark.root
Start = Callable[..., Started]
AGENT = "tests.remediations.act.agent"
# So many times as fast ten minutes are six seconds: enough for two steps on slow cores.
DEADLINE_SOON = "100"


@pytest.fixture
def actor(start_actor: Start) -> Started:
    return start_actor("slurm.drain")


def acted(actor: Started, what: str = "execute", *speed: str) -> list[str]:
    """Return what the agent said until it ended."""
    argv = [sys.executable, "-m", AGENT, str(actor.socket), str(actor.folder), what, *speed]
    said = run(argv, stdout=PIPE, text=True, check=True, timeout=60).stdout
    return said.splitlines()


@contextmanager
def acting(actor: Started, until: str | None) -> Iterator[Popen[str]]:
    """Have the agent act until it says that, or until the actor's verb hangs; then kill it."""
    argv = [sys.executable, "-m", AGENT, str(actor.socket), str(actor.folder), "execute"]
    agent = Popen(argv, stdout=PIPE, text=True)
    assert agent.stdout is not None
    if until is not None:
        while (line := agent.stdout.readline().strip()) != until:
            assert line != "", "the agent ended before"
    yield agent
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    agent.stdout.close()


def ends(actor: Started) -> list[str]:
    """Return how each action of the journal ended; `open` where it did not."""
    state = actor.ask("state")
    assert isinstance(state, Done)
    return [str(one["outcome"]) for one in state.value["history"]]


def did(actor: Started) -> list[str]:
    return actor.done()


def hangs(actor: Started, where: str) -> None:
    """Wait until the actor's verb is where it hangs: its intent is on the disk, or its deed."""
    name = where.rpartition("-")[2]
    wanted = {"before": f'"args":{{"name":"{name}"}}', "after": "", "taking": ""}
    kind = where.split("-")[1]
    end = time.monotonic() + 20
    while time.monotonic() < end:
        journal = (actor.state / "journal.jsonl").read_text() if actor.state.exists() else ""
        last = {"before": "", "after": f"put {name}", "taking": f"take {name}"}[kind]
        if wanted[kind] in journal and wanted[kind] and last == "":
            return
        if last and last in did(actor):
            return
        time.sleep(0.02)
    raise TimeoutError(where)


def test_to_its_end(actor: Started) -> None:
    """Evidence, lease, both steps, verification, end: in this order, and the lease stays."""
    assert (
        ["saving", "leased", "begun", "checking", "told", "done: slurm.drain: verified"],
        ["put a", "put b"],
        ["done"],
    ) == (acted(actor), did(actor), ends(actor))


@pytest.mark.parametrize(
    ("file", "said", "done", "how"),
    [
        ("no-evidence", "untouched: the evidence could not be saved: no room", [], []),
        ("no-lease", "untouched: no room", [], []),
        ("node/refuse-a", "untouched: put: the node says no", [], ["failed"]),
        (
            "node/refuse-b",
            "rolled_back: put: the node says no",
            ["put a", "take a"],
            ["rolled_back"],
        ),
    ],
)
def test_not_to_its_end(
    actor: Started, file: str, said: str, done: list[str], how: list[str]
) -> None:
    """Whatever says no: nothing is begun, or what was done is taken back, and it is said why."""
    (actor.folder / file).write_text("no room")
    assert (said, done, how) == (acted(actor)[-1], did(actor), ends(actor))


def test_verification_that_fails(actor: Started) -> None:
    """A node that does not pass within the deadline: both steps are taken back, the last first."""
    (actor.folder / "ill").write_text("gpu.count: 7 of 8")
    assert (
        "rolled_back: the node did not pass: gpu.count: 7 of 8",
        ["put a", "put b", "take b", "take a"],
        True,
    ) == (
        (said := acted(actor, "execute", DEADLINE_SOON))[-1],
        did(actor),
        "gave back lease-1" in said,
    )


def test_no_actor(actor: Started) -> None:
    """Without an actor nothing is done: no lease is asked for, and it is said why."""
    actor.kill()
    assert ["told", "untouched: no actor is running"] == acted(actor)


# Where it stops: what the agent said last, what was done in all after recovery, how it ended.
AGENT_KILLED = [
    ("saving", [], []),
    ("leased", [], []),
    ("begun", [], ["failed"]),
    ("checking", ["put a", "put b"], ["done"]),
    ("told", ["put a", "put b"], ["done"]),
]


@pytest.mark.parametrize(("where", "done", "how"), AGENT_KILLED)
@pytest.mark.parametrize("actor_too", [False, True], ids=["agent", "both"])
def test_agent_killed(
    actor: Started, where: str, done: list[str], how: list[str], *, actor_too: bool
) -> None:
    """The agent, or all of it, is killed in each of its states: it ends right, nothing is twice."""
    (actor.folder / f"stop-{where}").touch()
    with acting(actor, where):
        pass
    (actor.folder / f"stop-{where}").unlink()
    if actor_too:
        actor.kill()
        actor.start()
    acted(actor, "recover")
    assert (done, how, []) == (did(actor), ends(actor), acted(actor, "recover"))


# Where the verb hangs when actor and agent are killed: what is done in all, how it ended.
ALL_KILLED = [
    ("hang-before-a", [], ["failed"]),
    ("hang-after-a", ["put a", "take a"], ["rolled_back"]),
    ("hang-before-b", ["put a", "take a"], ["rolled_back"]),
    ("hang-after-b", ["put a", "put b"], ["done"]),
]


@pytest.mark.parametrize(("where", "done", "how"), ALL_KILLED)
def test_all_killed_in_a_step(actor: Started, where: str, done: list[str], how: list[str]) -> None:
    """Actor and agent are killed before or after a step took effect: no step is done twice."""
    (actor.node / where).touch()
    with acting(actor, "begun"):
        hangs(actor, where)
        actor.kill()
    (actor.node / where).unlink()
    actor.start()
    acted(actor, "recover")
    assert (done, how) == (did(actor), ends(actor))


@pytest.mark.parametrize(("where", "done", "how"), ALL_KILLED)
def test_actor_killed_in_a_step(
    actor: Started, where: str, done: list[str], how: list[str]
) -> None:
    """The actor alone is killed and comes back: the agent that waits asks the node, and goes on.

    A step that was not done is not repeated: what was done before it is taken back.
    """
    (actor.node / where).touch()
    with acting(actor, "begun") as agent:
        hangs(actor, where)
        actor.kill()
        (actor.node / where).unlink()
        actor.start()
        agent.wait(timeout=60)
    # With its answer from the node the living agent does what is left; only a dead one goes back.
    on = where == "hang-after-a"
    expected = (["put a", "put b"], ["done"]) if on else (done, how)
    assert expected == (did(actor), ends(actor))


def test_killed_on_the_way_back(actor: Started) -> None:
    """Killed while a step is taken back: the way back is gone to its end, and no other way."""
    (actor.node / "refuse-b").touch()
    (actor.node / "hang-taking-a").touch()
    with acting(actor, "begun"):
        hangs(actor, "hang-taking-a")
        actor.kill()
    for name in ("refuse-b", "hang-taking-a"):
        (actor.node / name).unlink()
    actor.start()
    acted(actor, "recover")
    assert (["put a", "take a"], ["rolled_back"]) == (did(actor), ends(actor))


def test_two_who_act(actor: Started) -> None:
    """While one process acts another neither acts nor finishes what that one has open."""
    (actor.folder / "stop-checking").touch()
    with acting(actor, "checking"):
        also = (acted(actor)[-1], acted(actor, "recover-once"))
    (actor.folder / "stop-checking").unlink()
    acted(actor, "recover")
    another = "untouched: another process acts on this node right now"
    assert ((another, []), ["put a", "put b"], ["done"]) == (also, did(actor), ends(actor))


def test_verb_outlives_its_caller(actor: Started) -> None:
    """A verb that was begun goes on when its caller dies, and nobody else acts meanwhile."""
    (actor.node / "hang-before-a").touch()
    with acting(actor, "begun"):
        hangs(actor, "hang-before-a")
    said = acted(actor, "recover")
    assert ("open", []) == (said[-1].partition(":")[0], did(actor))


def test_stopped_in_a_step(actor: Started) -> None:
    """An actor that is told to stop finishes the step that it began, and writes its outcome."""
    (actor.node / "slow-a").touch()
    with acting(actor, "begun"):
        hangs(actor, "hang-before-a")
        actor.stop()
    (actor.node / "slow-a").unlink()
    outcomes = [line for line in actor.journal() if '"outcome","id"' in line]
    actor.start()
    assert (["put a"], 1) == (did(actor), len(outcomes))


def test_evidence_of_a_torn_journal(actor: Started) -> None:
    """A line that a power cut tore is passed over, and what was written before it still counts."""
    (actor.folder / "stop-checking").touch()
    with acting(actor, "checking"):
        pass
    (actor.folder / "stop-checking").unlink()
    actor.kill()
    with (actor.state / "journal.jsonl").open("ab") as file:
        file.write(b'{"kind":"intent","id":"7')
        os.fsync(file.fileno())
    actor.start()
    acted(actor, "recover")
    assert (["put a", "put b"], ["done"]) == (did(actor), ends(actor))


def test_folder_of_state_is_roots(actor: Started, tmp_path: Path) -> None:
    """State that others can write is not believed: the actor says so and does not start."""
    actor.kill()
    actor.state.chmod(0o777)
    argv = [sys.executable, "-m", "remediations.actor", "--state", str(actor.state)]
    ran = run([*argv, "--socket", str(tmp_path / "s")], capture_output=True, text=True, check=False)
    assert (1, f"error: {actor.state} is refused: chown root {actor.state}; chmod go-w") == (
        ran.returncode,
        ran.stderr[: len(f"error: {actor.state} is refused: chown root {actor.state}; chmod go-w")],
    )
