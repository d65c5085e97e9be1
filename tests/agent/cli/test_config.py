"""`gpudiag config`: what holds and where it is from; what is wrong, by file and key."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def gpudiag(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-m", "agent", "config", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def test_each_setting_says_where_it_is_from(tmp_path: Path) -> None:
    """What the file says is the file's, all else a default."""
    file = tmp_path / "gpudiag.toml"
    file.write_text('[agent]\nwalk_s = 60\n[hook]\ndrain = ["gpu_lost"]\n')
    shown = json.loads(gpudiag("show", "--json", "--config", str(file)).stdout)

    assert (
        {"value": 60.0, "from": str(file)},
        {"value": ["gpu_lost"], "from": str(file)},
        {"value": "127.0.0.1:9836", "from": "default"},
    ) == (shown["agent.walk_s"], shown["hook.drain"], shown["agent.metrics"])


def test_a_variable_is_where_a_setting_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the environment gives is shown with the variable's name, also over the file's value."""
    file = tmp_path / "gpudiag.toml"
    file.write_text("[agent]\nwalk_s = 60\n")
    monkeypatch.setenv("GPUDIAG_AGENT_WALK_S", "90")
    shown = json.loads(gpudiag("show", "--json", "--config", str(file)).stdout)

    assert {"value": 90.0, "from": "GPUDIAG_AGENT_WALK_S"} == shown["agent.walk_s"]


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("[agent]\nwalk = 3\n", "agent.walk: unknown key", "correct the key"),
        ("[agent]\nwalk_s = 3\n", "agent.walk_s: Input should be greater", "correct the key"),
        ("[hook]\ndrain = ['gpu_lots']\n", "no such fault: gpu_lots", "did you mean gpu_lost?"),
        ("[report]\naggregator = 'agg-1'\n", "report.aggregator: String should", "correct the"),
        ("[agent\n", "Expected ']'", "correct the line"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, error: str, hint: str) -> None:
    """Status 64, file and key in one line, what to do in the next."""
    file = tmp_path / "gpudiag.toml"
    file.write_text(text)
    ran = gpudiag("check", str(file))

    assert (64, True, True, True) == (
        ran.returncode,
        ran.stderr.startswith(f"error: {file}: "),
        error in ran.stderr,
        hint in ran.stderr,
    )


def test_a_right_file_is_said_to_be_right(tmp_path: Path) -> None:
    """One line, status 0."""
    file = tmp_path / "gpudiag.toml"
    file.write_text("[walk]\nsample_s = 2.0\n")
    ran = gpudiag("check", str(file))

    assert (0, f"{file} is right\n") == (ran.returncode, ran.stdout)
