"""`gpudiag remediate`: the plan is shown, each mistake is one line, and a person's act is real."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from agent.cli import remediate
from agent.cli.errors import Mistake
from agent.cli.hands import Keyboard
from agent.cli.planned import Planned
from agent.settings.load import Settings
from remediations.actor.clock import boot_id
from remediations.plan.actions import Action, Decision, Step
from tests.remediations.actors import Started
from tests.remediations.plan.rehearsal import seen
from tests.remediations.plan.sick import sick

NODES = Path(__file__).parents[2] / "nodes"
NOWHERE = ("--socket", "/nonexistent/agent", "--actor", "/nonexistent/actor")


def gpudiag(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-m", "agent", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, **more)


def of_recording(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return gpudiag("remediate", *words, "--replay", str(NODES / name))


def test_the_plan_says_what_why_and_how() -> None:
    """Remedy, reason, the step as a person would do it, and its risk."""
    ran = of_recording("h100-gpu-lost")
    said = " ".join(ran.stdout.split())

    assert (0, True, True, True) == (
        ran.returncode,
        "slurm.drain advised: slurm.drain is in advise;" in said,
        'scontrol update NodeName=gpu-017 State=DRAIN Reason="gpudiag: gpu_fell_off_bus' in said,
        "risk: no new job starts on the node" in said,
    )


def test_one_incident_is_asked_for_by_its_name() -> None:
    """By the id of the diagnosis, or by the fingerprint that stays."""
    whole = json.loads(of_recording("ecc-uncorrectable", "--json").stdout)["plan"]
    one = json.loads(of_recording("ecc-uncorrectable", "i1", "--json").stdout)["plan"]

    assert (whole, [("slurm.drain", "i1"), ("gpu.reset", "i1")]) == (
        one,
        [(line["remedy"], line["incident"]) for line in one],
    )


def test_a_node_that_is_well_has_nothing_to_do() -> None:
    """And it says so."""
    ran = of_recording("h100-idle")

    assert (0, True) == (ran.returncode, "no incident stands" in ran.stdout)


def test_a_node_that_cannot_be_seen_is_not_said_to_be_well() -> None:
    """Nothing was found, for too little was seen."""
    said = " ".join(of_recording("blind-driver-stage").stdout.split())

    assert (False, True) == ("no incident stands" in said, "too little was seen for" in said)


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["--yes"], "--yes means nothing without --act", "leave it out, or add --act"),
        (
            ["--without-lease"],
            "--without-lease means nothing without --act",
            "leave it out, or add --act",
        ),
        (
            ["--act", "--replay", "x"],
            "a recording is not acted upon",
            "leave --act out to see its plan",
        ),
        (["--act", "--json"], "--json and --act exclude each other", "give one of them"),
        (
            ["--replay", "/nonexistent"],
            "/nonexistent is no recording: no such folder",
            "copy the recording again, then repeat this command; nothing was judged",
        ),
        (["--acts"], "no such option: --acts", "did you mean --act?"),
    ],
)
def test_a_mistake_is_one_clear_line(words: list[str], error: str, hint: str) -> None:
    """What is wrong, what to do, and nothing on standard output."""
    ran = gpudiag("remediate", *words)

    assert (64, "", f"error: {error}\n help: {hint}\n") == (ran.returncode, ran.stdout, ran.stderr)


def test_an_incident_that_is_none_is_named_with_those_that_are() -> None:
    """The help has the ids that can be asked for."""
    ran = of_recording("ecc-uncorrectable", "i9")

    assert (64, "error: gpu-017 has no incident i9") == (
        ran.returncode,
        ran.stderr.splitlines()[0],
    )


def test_only_root_acts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever else is told how."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    ran = CliRunner().invoke(remediate.command, ["--act", "--yes"])

    assert ("only root may act", "") == (str(ran.exception), ran.stdout)


@pytest.mark.root
def test_without_a_terminal_nobody_is_asked() -> None:
    """A script says --yes, or nothing is done."""
    ran = gpudiag("remediate", "--act", stdin=subprocess.DEVNULL)

    assert (64, "error: --act asks, and there is no terminal to answer") == (
        ran.returncode,
        ran.stderr.splitlines()[0],
    )


@pytest.mark.root
def test_a_script_never_acts_without_a_lease() -> None:
    """Whatever it pipes in, it is no person who typed the host's name."""
    ran = gpudiag("remediate", "--act", "--yes", "--without-lease", input="gpu-017\n")

    assert (64, "error: --without-lease is for a person at the keyboard") == (
        ran.returncode,
        ran.stderr.splitlines()[0],
    )


@pytest.mark.root
def test_where_nothing_acts_it_says_so_and_ends_with_1() -> None:
    """This machine has no incident, no actor and no agent."""
    ran = gpudiag("remediate", "--act", "--yes", *NOWHERE)

    assert (1, True) == (ran.returncode, "nothing was done" in ran.stderr)


def told(action: Action) -> tuple[Planned, Decision]:
    document, _ = seen("h100-idle")
    rests_on = sick(boot_id=boot_id(), person=True)
    decision = Decision(action=action, verdict="acts", reason="no guard objects")
    return (
        Planned(document=document, situation=rests_on, decisions=(decision,), settings=Settings()),
        decision,
    )


ACTION = Action(
    key="slurm.drain|gpu-017|gpu_lost|gpu 1",
    remedy="slurm.drain",
    fault="gpu_lost",
    subject="gpu 1",
    signature="gpu_lost",
    steps=(Step(verb="put", args={"name": "a"}, says="put a", done="is_put"),),
    verify=("host.clock",),
    risk="none",
)


@pytest.mark.root
@pytest.mark.parametrize(
    ("typed", "status"), [("{host}\n", "done"), ("gpu-018\n", None), ("\n", None)]
)
def test_without_a_lease_the_hosts_name_is_typed(typed: str, status: str | None) -> None:
    """Any other word, and nothing is done; --yes does not stand for it."""
    planned, decision = told(ACTION)
    host = os.uname().nodename.partition(".")[0]
    refused = None
    with CliRunner().isolation(input=typed.format(host=host)):
        try:
            remediate._confirmed(planned, decision, yes=True, without_lease=True)
        except Mistake as mistake:
            refused = mistake.what
    wrong = "that is not this host's name: nothing was done"

    assert (None if status else wrong) == refused


@pytest.fixture
def actor(tmp_path: Path) -> Any:
    started = Started(tmp_path, "slurm.drain")
    started.start()
    yield started
    started.kill()


@pytest.mark.root
@pytest.mark.serial
def test_a_persons_act_is_done_verified_and_kept(actor: Started, tmp_path: Path) -> None:
    """By the real actor; the checks are run again on this machine; a line stays of who it was."""
    planned, _ = told(ACTION)
    keyboard = Keyboard(planned, "/nonexistent", str(actor.socket), str(tmp_path), "person:0")
    ended = keyboard.do(ACTION)
    lines = [json.loads(line) for line in (tmp_path / "acting.jsonl").read_text().splitlines()]

    assert ("done", "put a\n", [("begun", "person:0"), ("done", "person:0")]) == (
        ended.outcome,
        (actor.node / "done").read_text(),
        [(line["what"], line["lease"]) for line in lines],
    )


@pytest.mark.root
@pytest.mark.serial
def test_without_an_aggregator_and_with_no_person_nothing_is_taken(
    actor: Started, tmp_path: Path
) -> None:
    """A lease is asked for of nobody, and that is no leave."""
    planned, _ = told(ACTION)
    ended = Keyboard(planned, "/nonexistent", str(actor.socket), str(tmp_path), None).do(ACTION)

    assert ("untouched", False) == (ended.outcome, (actor.node / "done").exists())


@pytest.mark.root
@pytest.mark.serial
def test_what_the_policy_does_not_turn_on_no_person_does(actor: Started, tmp_path: Path) -> None:
    """The actor asks the policy itself, whatever the command decided."""
    action = msgspec.structs.replace(ACTION, remedy="gpu.reset")
    planned, _ = told(action)
    keyboard = Keyboard(planned, "/nonexistent", str(actor.socket), str(tmp_path), "person:0")
    ended = keyboard.do(action)

    assert ("untouched", True) == (ended.outcome, "gpu.reset is in advise" in ended.reason)


@pytest.mark.root
@pytest.mark.serial
def test_an_act_that_is_interrupted_says_who_goes_on(
    actor: Started, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the middle of a step: one line and status 130, and the action is open."""
    (actor.node / "hang-before-a").touch()
    planned, _ = told(ACTION)
    keyboard = Keyboard(planned, "/nonexistent", str(actor.socket), str(tmp_path), "person:0")

    def interrupt() -> None:
        end = time.monotonic() + 30
        while "intent" not in "".join(actor.journal()) and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    person = threading.Thread(target=interrupt)
    person.start()
    status = remediate._do(keyboard, ACTION)
    person.join()
    said = capsys.readouterr().err

    assert (130, "slurm.drain: interrupted: the agent finishes", 1, False) == (
        status,
        said[:44],
        said.count("\n"),
        '"end"' in "".join(actor.journal()),
    )
