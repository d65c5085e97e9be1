"""The vendor's report: on a drained node alone, bounded, and no repair waits for it for ever."""

import os
from pathlib import Path
from typing import Any

import pytest

from collectors.helpers.children import tools
from remediations.actor import bug_report, slurm
from remediations.actor.registry import Refused, Turn
from remediations.policy import Policy

DRAINED: dict[str, Any] = {"states": ["DRAIN", "IDLE"], "reason": "gpudiag: x", "by": "root"}
WRITES = '#!/bin/sh\necho report of $1 >"$2"\n'


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in for the vendor's script, and for Slurm's word."""
    path = tmp_path / "nvidia-bug-report.sh"
    path.write_text(WRITES)
    path.chmod(0o755)
    monkeypatch.setattr(tools, "given", {bug_report.TOOL: str(path)})
    monkeypatch.setattr(slurm, "seen", lambda: DRAINED)
    return path


def made(state: Path, left_s: float = 60.0, name: str = "a1") -> str:
    turn = Turn(name, "gpu.reset", "gpu 1", Policy(), state, 0, left_s)
    return bug_report.bug_report(turn)


def test_written(tool: Path, tmp_path: Path) -> None:
    """On a drained node it is written, named by its action."""
    said = made(tmp_path)
    report = tmp_path / "bug-reports" / "a1.log"
    assert (f"{tool.name} ended with 0: {report.parent}", "report of --output-file\n") == (
        said,
        report.read_text(),
    )


@pytest.mark.parametrize(
    "states", [["ALLOCATED", "DRAIN"], ["IDLE"], ["DRAIN", "MIXED"], ["COMPLETING", "DRAIN"]]
)
def test_not_where_jobs_may_run(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, states: list[str]
) -> None:
    """Where a job may be there is no report, and the repair is not held up."""
    del tool
    monkeypatch.setattr(slurm, "seen", lambda: {**DRAINED, "states": states})
    said = made(tmp_path)
    assert (True, False) == (
        said.startswith("no report: the node is not drained"),
        (tmp_path / "bug-reports").exists(),
    )


def test_one_that_hangs(tool: Path, tmp_path: Path) -> None:
    """One that does not end is ended in half of the time that is left."""
    tool.write_text("#!/bin/sh\nexec sleep 600\n")
    assert f"no report: {tool.name} did not end in 1 s" == made(tmp_path, left_s=1.0)


def test_no_tool_and_no_word(tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the script, or without Slurm's word, it says so and never objects."""
    tool.unlink()
    without = made(tmp_path)

    def silent() -> dict[str, Any]:
        raise Refused("no_tool", "scontrol is not installed")

    monkeypatch.setattr(slurm, "seen", silent)
    assert (
        f"no report: {tool} is not installed",
        "no report: it is not known whether the node is drained: scontrol is not installed",
    ) == (without, made(tmp_path))


def test_few_are_kept(tool: Path, tmp_path: Path) -> None:
    """Of many reports the newest five are kept, and none that is huge."""
    del tool
    folder = tmp_path / "bug-reports"
    for number in range(7):
        made(tmp_path, name=f"n{number}")
        os.utime(folder / f"n{number}.log", (number, number))
    huge = folder / "huge.log"
    with huge.open("wb") as file:
        file.truncate(bug_report.MOST_BYTES + 1)
    os.utime(huge, (100, 100))
    made(tmp_path, name="last")
    assert ["last.log", "n4.log", "n5.log", "n6.log"] == sorted(p.name for p in folder.iterdir())
