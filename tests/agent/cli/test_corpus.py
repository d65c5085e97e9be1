"""Real logs with known truth, judged in place: GPUDIAG_CORPUS names them, or a folder beside us."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[4].glob("*/corpus/score.py")
CORPUS = os.environ.get("GPUDIAG_CORPUS") or next((str(path.parent) for path in BESIDE), None)
FLOOR = ["--min-top1", "0.95", "--min-recall", "0.9", "--min-culprit", "0.7"]
CEILING = ["--max-spurious", "20", "--max-false-alarms", "0"]

pytestmark = [
    pytest.mark.serial,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not CORPUS, reason="no folder of real logs is here"),
]


def test_real_logs_are_diagnosed() -> None:
    """The first cause, what is found, whom it names; nothing above a note on what is healthy."""
    assert CORPUS is not None
    command = f"{Path(sys.executable).parent / 'gpudiag'} logs {{file}} --json"
    script = [sys.executable, f"{CORPUS}/score.py", "--show", "--command", command]
    done = subprocess.run(
        [*script, *FLOOR, *CEILING], capture_output=True, text=True, timeout=300, check=False
    )
    said = done.stdout + done.stderr

    assert (0, "") == (done.returncode, said if done.returncode else "")
