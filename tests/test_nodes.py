"""Whole recorded nodes: each gets exactly its diagnosis, and a healthy one no warning."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from diagnostics.catalog import WALK
from diagnostics.document import Document
from tests.nodes.build.__main__ import ALL
from tests.nodes.replay import NAMES, NODES, expected, replay, summary
from tests.score import truths

# What these recordings do not hold yet: answers of a BMC, of NVML about the health of a GPU, and
# what is kept of the boot before.
NOT_HELD = ("bmc.", "gpu.", "driver.last_boot")
HEALTHY = [name for name, truth in truths().items() if truth.healthy and name in NAMES]


def loud(document: Document) -> list[tuple[str, str]]:
    return [(f["fault"], f["message"]) for f in document.findings if f["severity"] != "info"]


def tree(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "expected.json")
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in files}


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_diagnosis_is_the_expected_one(name: str) -> None:
    """Verdict, checks, findings, root causes, incidents and plan are what expected.json holds."""
    assert expected(name) == summary(replay(name))


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_node_gets_no_warning(name: str) -> None:
    """The verdict is ok, and no finding is above info."""
    document = replay(name)

    assert ("ok", []) == (document.verdict, loud(document))


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_is_the_same_twice(name: str) -> None:
    """Two replays give the same bytes: sentences, numbers, order and all."""
    assert replay(name).encode() == replay(name).encode()


@pytest.mark.parametrize("name", ["h100-gpu-lost", "h100-idle"])
def test_the_command_says_the_same(name: str) -> None:
    """`gpudiag run --replay` prints the document that the functions return, and its status."""
    argv = [sys.executable, "-I", "-m", "agent", "run", "--json", "--replay", str(NODES / name)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    document = replay(name)
    told: dict[str, Any] = json.loads(document.encode())

    assert (summary(document)["status"], told, "") == (
        ran.returncode,
        json.loads(ran.stdout),
        ran.stderr,
    )


def test_a_busy_h100_is_seen_whole() -> None:
    """On a healthy H100 node in training no check is blind, and each that applies is ok."""
    document = replay("h100-training")
    said = {c.check: c.verdict for stage in document.stages for c in stage.checks}
    held = [check.name for check in WALK if not check.name.startswith(NOT_HELD)]

    assert dict.fromkeys(held, "ok") == {name: said[name] for name in held}


def test_every_node_has_its_truth() -> None:
    """truth.toml speaks of the recorded nodes, all of them and no others."""
    assert set(NAMES) == set(truths())


@pytest.mark.parametrize("name", ALL)
def test_the_recording_is_what_its_parts_make(name: str, tmp_path: Path) -> None:
    """Who edits a node edits its parts and runs `python -m tests.nodes.build`."""
    ALL[name]().recording().write(tmp_path / name)

    assert tree(tmp_path / name) == tree(NODES / name)
