"""The actor's units in a whole systemd of their own, under the sandbox that they ship with."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.boxes import shown

pytestmark = [
    pytest.mark.root,
    pytest.mark.serial,
    pytest.mark.tool("systemd-nspawn", "unshare"),
    pytest.mark.timeout(240),
]


def told(box: Path, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((box / name).read_text())
    return answer


def test_it_is_not_there_by_default(box: Path) -> None:
    """All units are on the node and the agent runs; until root enables it, nobody can act."""
    assert (False, "no actor is running") == (
        "actor.sock" in (box / "before_install").read_text(),
        told(box, "not_there")["why"],
    )


def test_nothing_acts_without_a_policy(box: Path) -> None:
    """Enabled, and with no policy, it answers who it is and lets nothing begin."""
    assert ({}, "slurm.resume is in advise, not act, in /etc/gpudiag/acting.toml") == (
        told(box, "state.json")["ok"]["mode"],
        told(box, "advised")["why"],
    )


def test_the_unit_of_another_user_is_refused(box: Path) -> None:
    """Who is not of the group gpudiag does not even reach the socket."""
    assert "Permission denied" in (box / "nobody").read_text()


def test_an_action_outlives_a_kill(box: Path) -> None:
    """What was begun is open after kill -9; its step was refused by the node, and that is known."""
    (before,) = [told(box, "begun.json")["ok"]["id"]]
    (open_,) = told(box, "again.json")["ok"]["open"]
    assert (before, [False], "active", "1") == (
        open_["id"],
        [step["outcome"]["ok"] for step in open_["steps"]],
        shown(box / "restarted")["ActiveState"],
        shown(box / "restarted")["NRestarts"],
    )


def test_a_policy_that_others_write(box: Path) -> None:
    """It is refused at once, without a restart."""
    assert "chmod go-w /etc/gpudiag/acting.toml" in told(box, "written_by_others")["why"]


def test_its_state_is_roots(box: Path) -> None:
    """Folder and journal are root's alone, the socket is root's and the agent's group's."""
    assert ["root 700", "root 600", "root 660"] == (box / "owners").read_text().splitlines()


def test_it_stops_well(box: Path) -> None:
    """systemctl stop ends well, and its log has no trace of a bug."""
    seen = shown(box / "stopped")
    assert ("inactive", "success", False) == (
        seen["ActiveState"],
        seen["Result"],
        "Traceback" in (box / "journal").read_text(),
    )
