"""Of eight ranks the one that works a fifth longer is named, and none where all work alike."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.torch.conftest import HERE, ROOT, torch_python

pytestmark = pytest.mark.timeout(240)

STEPS = 25
# `make soak` makes ten of each.
ROUNDS = int(os.environ.get("GPUDIAG_ROUNDS", "2"))


def named(folder: Path, slow: int) -> list[int]:
    """Run eight ranks, and return those that are named as slow."""
    log = folder / "train.log"
    python = torch_python()
    assert python is not None
    with log.open("wb") as output:
        argv = [python, str(HERE / "steps.py"), str(slow), str(STEPS)]
        subprocess.run(argv, stdout=output, stderr=subprocess.DEVNULL, timeout=200, check=True)
    argv = [sys.executable, "-m", "agent", "logs", "--json", str(log)]
    said = subprocess.run(argv, cwd=ROOT, capture_output=True, timeout=30, check=False)
    findings = json.loads(said.stdout)["findings"]
    return [f["subject"]["rank"] for f in findings if f["fault"] == "straggler_rank"]


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_the_slow_rank_is_named(turn: int, tmp_path: Path) -> None:
    """By its own work, without the wait that all share."""
    slow = (3 * turn + 2) % 8
    assert [slow] == named(tmp_path, slow)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_nobody_is_named_where_all_work_alike(turn: int, tmp_path: Path) -> None:
    """The noise of eight processes on two processors makes no rank slow."""
    del turn
    assert [] == named(tmp_path, -1)
