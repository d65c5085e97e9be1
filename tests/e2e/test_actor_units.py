"""The actor's units, as systemd itself reads and rates them."""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.tool("systemd-analyze")

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Copy the units; their programs are installed nowhere here, so that /bin/true stands in."""
    for path in UNITS.glob("gpudiag-*"):
        text = re.sub(
            r"^ExecStart=.*$", "ExecStart=/bin/true", path.read_text(), flags=re.MULTILINE
        )
        (tmp_path / path.name).write_text(text.replace("SocketGroup=gpudiag\n", ""))
    return tmp_path


def test_systemd_finds_nothing_to_complain_of(copies: Path) -> None:
    """verify ends with 0 for unknown keys too: its standard error must be empty."""
    units = [str(path) for path in copies.glob("gpudiag-actor*")]
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        check=False,
        env={"SYSTEMD_UNIT_PATH": f"{copies}:", "PATH": "/usr/bin:/bin"},
    )
    assert (0, "") == (ran.returncode, ran.stderr)


def test_it_is_exposed_no_more_than_acting_needs(copies: Path) -> None:
    """systemd rates it at most 4.5, with the driver, the network and others' processes in reach."""
    unit = str(copies / "gpudiag-actor.service")
    argv = ["systemd-analyze", "security", "--offline=true", "--threshold=45", unit]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (0, True) == (ran.returncode, "Overall exposure level" in ran.stdout)


def test_nothing_wants_it() -> None:
    """No unit of the agent or the reader starts the actor: it is there where root installs it."""
    others = [path for path in UNITS.glob("gpudiag-*") if "actor" not in path.name]
    assert [] == [path.name for path in others if "gpudiag-actor" in path.read_text()]
