"""The aggregator's unit, as systemd itself reads and rates it."""

import re
from pathlib import Path
from subprocess import run

import pytest

pytestmark = pytest.mark.tool("systemd-analyze")

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "gpudiag-aggregator.service"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the unit; its program is installed nowhere here, so that /bin/true stands in."""
    text = re.sub(r"^ExecStart=.*$", "ExecStart=/bin/true", UNIT.read_text(), flags=re.MULTILINE)
    path = tmp_path / UNIT.name
    path.write_text(text)
    return path


def test_well_formed(copy: Path) -> None:
    """Verify ends with 0 for unknown keys too: its standard error must be empty."""
    argv = ["systemd-analyze", "verify", "--man=no", str(copy)]
    ran = run(argv, capture_output=True, text=True, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)


def test_exposure(copy: Path) -> None:
    """systemd's own measure is at most 1.5."""
    argv = ["systemd-analyze", "security", "--offline=true", "--threshold=15", str(copy)]
    ran = run(argv, capture_output=True, text=True, check=False)
    assert (0, True) == (ran.returncode, "Overall exposure level" in ran.stdout)
