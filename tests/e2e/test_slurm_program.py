"""The program between Slurm and the hook: 1 on the agent's own word alone."""

import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "deploy" / "slurm" / "gpudiag-prolog"


@pytest.mark.parametrize(
    ("gpudiag", "status"),
    [
        pytest.param('echo "gpudiag: drain: gpu_lost: $2"; exit 1', 1, id="drain"),
        pytest.param("echo gpudiag: ok; exit 0", 0, id="well"),
        pytest.param("exit 1", 0, id="a traceback"),
        pytest.param('echo "gpudiag: drain: x"; exit 0', 0, id="words alone"),
        pytest.param("exit 127", 0, id="no interpreter"),
        pytest.param("exec sleep 60", 0, id="hangs"),
        pytest.param(None, 0, id="not installed"),
    ],
)
def test_only_a_verdict_takes_the_node_out(
    tmp_path: Path, gpudiag: str | None, status: int
) -> None:
    """A fault of ours in any shape is 0, and the event is told by the program's own name."""
    program = tmp_path / "gpudiag-epilog"
    program.write_text(PROGRAM.read_text().replace("/opt/gpudiag/bin", str(tmp_path)))
    program.chmod(0o755)
    if gpudiag is not None:
        (tmp_path / "gpudiag").write_text(f"#!/bin/sh\n{gpudiag}\n")
        (tmp_path / "gpudiag").chmod(0o755)

    ran = subprocess.run([program], capture_output=True, text=True, check=False, timeout=30)

    assert (status, "gpudiag: drain: gpu_lost: epilog\n" if status else "") == (
        ran.returncode,
        ran.stdout,
    )
