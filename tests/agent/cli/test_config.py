"""`gpudiag config`: what holds and where it is from; what is wrong, by file and key."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from remediations.plan.catalog import REMEDIES
from remediations.policy import ENOUGH, PROVED


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
    """One line, status 0; and one that nothing acts, where nobody said what may."""
    file, acting = tmp_path / "gpudiag.toml", tmp_path / "acting.toml"
    file.write_text("[walk]\nsample_s = 2.0\n")
    ran = gpudiag("check", str(file), "--acting", str(acting))
    nothing = f"there is no {acting}: every remedy is advised, and nothing acts"

    assert (0, f"{file} is right\n{nothing}\n") == (ran.returncode, ran.stdout)


def acting_file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "acting.toml"
    file.write_text(text)
    file.chmod(0o644)
    return file


@pytest.mark.root
def test_what_could_happen_is_said_of_each_remedy(tmp_path: Path) -> None:
    """In the order of trust: the mode, and one sentence that says what it would do, or why not."""
    text = (
        'users = ["root"]\nallow_unproved = ["gpu.power_cap"]\n[mode]\n"gpu.power_cap" = "act"\n'
        '"gpu.reset" = "act"\n"slurm.reboot" = "observe"\n'
    )
    ran = gpudiag("check", "--acting", str(acting_file(tmp_path, text)))
    lines = ran.stdout.splitlines()[2:]
    told = {line.split()[1]: (line.split()[0], line.split(maxsplit=2)[2]) for line in lines}

    unproved = PROVED["gpu.reset"] not in ENOUGH
    assert (list(REMEDIES), "act", "act", "observe", "advise", True, unproved, True) == (
        list(told),
        told["gpu.power_cap"][0],
        told["gpu.reset"][0],
        told["slurm.reboot"][0],
        told["slurm.requeue"][0],
        told["gpu.power_cap"][1].startswith("gpudiag lowers the power limit"),
        told["gpu.reset"][1].startswith("nothing: it is only"),
        told["slurm.requeue"][1].startswith("nothing: a person is told; in act, gpudiag requeues"),
    )


@pytest.mark.root
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('[mode]\n"gpu.rest" = "act"\n', "mode: no such remedy: 'gpu.rest'"),
        ('[mode]\n"gpu.reset" = "on"\n', "mode.gpu.reset: no such mode: 'on'"),
        ("[modes]\n", "modes: unknown key"),
    ],
)
def test_a_mistake_in_what_may_act_is_named(tmp_path: Path, text: str, error: str) -> None:
    """Status 64; the actor refuses the whole file for it."""
    file = acting_file(tmp_path, text)
    ran = gpudiag("check", "--acting", str(file))

    assert (64, True) == (ran.returncode, ran.stderr.startswith(f"error: {file}: {error}"))


@pytest.mark.root
def test_a_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    """The line says how to make it root's alone."""
    file = acting_file(tmp_path, "")
    file.chmod(0o666)
    ran = gpudiag("check", "--acting", str(file))
    said = f"error: {file} is refused: chown root {file}; chmod go-w {file}"

    assert (64, said) == (ran.returncode, ran.stderr.splitlines()[0])


@pytest.mark.root
def test_a_user_whom_nobody_knows_is_named(tmp_path: Path) -> None:
    """The file is right, and still lets nobody in who is not spelled as the node knows him."""
    file = acting_file(tmp_path, 'users = ["gpudiagg", "root"]\n')
    ran = gpudiag("check", "--acting", str(file))
    said = f"{file}: users: this node has no user gpudiagg: nobody is let in by it"

    assert (0, [said]) == (ran.returncode, [x for x in ran.stdout.splitlines() if "users" in x])
