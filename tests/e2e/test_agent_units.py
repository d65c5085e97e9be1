"""The agent's unit, as systemd itself reads and rates it."""

import re
import shutil
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
        (tmp_path / path.name).write_text(text)
    return tmp_path


def test_systemd_finds_nothing_to_complain_of(copies: Path) -> None:
    """verify ends with 0 for unknown keys too: its standard error must be empty."""
    argv = ["systemd-analyze", "verify", "--man=no", str(copies / "gpudiag-agent.service")]
    ran = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        env={"SYSTEMD_UNIT_PATH": f"{copies}:", "PATH": "/usr/bin:/bin"},
    )

    assert (0, "") == (ran.returncode, ran.stderr)


def test_the_agent_is_exposed_little(copies: Path) -> None:
    """systemd's own measure is at most 2.5 for the agent: 9 and more are usual."""
    unit = str(copies / "gpudiag-agent.service")
    argv = ["systemd-analyze", "security", "--offline=true", "--threshold=25", unit]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert (0, True) == (ran.returncode, "Overall exposure level" in ran.stdout)


def test_the_answerer_of_pings_is_sound_and_exposed_little(copies: Path) -> None:
    """The unit that only answers ibping has nothing to complain of, and is rated at most 2.0."""
    unit = str(copies / "gpudiag-ibping@mlx5_0.service")
    shutil.copy(copies / "gpudiag-ibping@.service", unit)
    environment = {"SYSTEMD_UNIT_PATH": f"{copies}:", "PATH": "/usr/bin:/bin"}
    rating = ["security", "--offline=true", "--threshold=20"]
    ran = [
        subprocess.run(
            ["systemd-analyze", *argv, unit],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        for argv in (["verify", "--man=no"], rating)
    ]

    assert ([0, 0], "") == ([one.returncode for one in ran], ran[0].stderr)


def test_jobs_come_first() -> None:
    """What the agent may take of a node is bounded, and it is asked for signs of life."""
    text = (UNITS / "gpudiag-agent.service").read_text().splitlines()
    wanted = {"Type=notify", "WatchdogSec=120", "CPUWeight=20", "IOWeight=10", "Nice=10"}
    wanted |= {"OOMPolicy=continue", "MemoryMax=256M", "TasksMax=128"}

    assert set() == wanted - set(text)


def test_user_and_folder_are_made(tmp_path: Path) -> None:
    """sysusers and tmpfiles take the files as they are, on an empty root."""
    (tmp_path / "etc").mkdir()
    for tool, folder in (("systemd-sysusers", "sysusers.d"), ("systemd-tmpfiles", "tmpfiles.d")):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool} (apt: systemd)")
        argv = [tool, f"--root={tmp_path}", str(UNITS / folder / "gpudiag.conf")]
        argv += ["--create"] if tool == "systemd-tmpfiles" else []
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    user = [x for x in (tmp_path / "etc/passwd").read_text().splitlines() if "gpudiag" in x]

    assert (1, True) == (len(user), (tmp_path / "run/gpudiag").is_dir())
