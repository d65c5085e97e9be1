"""Settings in the environment go before the file, and a misspelt one is named."""

from pathlib import Path

import pytest

from agent.cli.errors import Mistake
from agent.settings.load import Settings, load


def loaded(monkeypatch: pytest.MonkeyPatch, path: Path, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return load(str(path))


def test_the_environment_goes_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One key is the variable's, its neighbour stays the file's; a list is written with commas."""
    file = tmp_path / "gpudiag.toml"
    file.write_text('[agent]\nwalk_s = 40\nmetrics = "127.0.0.1:9900"\n')
    read = loaded(
        monkeypatch, file, GPUDIAG_AGENT_WALK_S="60", GPUDIAG_HOOK_DRAIN="gpu_lost, gsp_timeout"
    )

    expected = (60.0, "127.0.0.1:9900", frozenset({"gpu_lost", "gsp_timeout"}))

    assert expected == (
        read.agent.walk_s,
        read.agent.metrics,
        read.drain,
    )


def test_without_a_file_the_environment_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is needed for a setting; the others are the defaults."""
    read = loaded(monkeypatch, tmp_path / "none", GPUDIAG_PRIVACY_JOB_TEXT="none")

    assert ("none", Settings().agent) == (read.report.job_text, read.agent)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "GPUDIAG_AGENT_WALKS",
            "60",
            ("environment: GPUDIAG_AGENT_WALKS: unknown key", "did you mean GPUDIAG_AGENT_WALK_S?"),
        ),
        (
            "GPUDIAG_TOOLS_IPMITOOL",
            "/usr/bin/ipmitool",
            (
                "environment: GPUDIAG_TOOLS_IPMITOOL: unknown key",
                "gpudiag config show lists the settings",
            ),
        ),
        (
            "GPUDIAG_AGENT_WALK_S",
            "soon",
            (
                "GPUDIAG_AGENT_WALK_S: agent.walk_s: Input should be a valid number",
                "correct the key",
            ),
        ),
        (
            "GPUDIAG_REPORT_SPOOL_MIB",
            "0",
            (
                "GPUDIAG_REPORT_SPOOL_MIB: report.spool_mib: Input should be greater",
                "correct the key",
            ),
        ),
    ],
)
def test_a_mistake_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: tuple[str, str]
) -> None:
    """An unknown variable, and a value that cannot be one, are errors with the variable's name."""
    with pytest.raises(Mistake) as mistake:
        loaded(monkeypatch, tmp_path / "none", **{name: value})

    assert (True, True) == (
        mistake.value.what.startswith(said[0]),
        mistake.value.hint.startswith(said[1]),
    )


def test_variables_of_commands_are_no_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket's place, a trace of bugs and the fleet's address are theirs who read them."""
    read = loaded(
        monkeypatch,
        tmp_path / "none",
        GPUDIAG_SOCKET="/run/x.sock",
        GPUDIAG_DEBUG="1",
        GPUDIAG_FLEET_URL="https://agg-1:9837",
    )

    assert Settings() == read
