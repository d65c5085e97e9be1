"""Every mistake of a caller is two clear lines on standard error, and exit status 64."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from diagnostics.finding import STAGES
from tests.recording import write

AGENT = f"{sys.executable} -I -m agent"


def gpudiag(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-m", "agent", *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **env},
    )


@pytest.mark.parametrize(
    ("args", "error", "hint"),
    [
        (["--nope"], "no such option: --nope", "gpudiag --help shows how it is called"),
        (["runn"], "no such command: runn", "did you mean run?"),
        (["run", "--stages", "network"], "no such option: --stages", "did you mean --stage?"),
        (
            ["run", "--stage", "net"],
            f"invalid value for '--stage': 'net' is not one of {str(STAGES)[1:-1]}",
            "gpudiag run --help shows how it is called",
        ),
        (
            ["run", "--check", "processes.zombi"],
            "no such check: processes.zombi",
            "did you mean processes.zombie?",
        ),
        (
            ["run", "--replay", "/nonexistent"],
            "/nonexistent is no recording: no such folder",
            "copy the recording again, then repeat this command; nothing was judged",
        ),
        (
            ["run", "--replay", "a", "--root", "b"],
            "--replay and --root exclude each other",
            "give one of them",
        ),
        (
            ["run", "--root", "/nonexistent"],
            "/nonexistent is not a folder",
            "give the folder that holds the node's /proc and /sys",
        ),
        (
            ["run", "--log", "/nonexistent.log"],
            "cannot read /nonexistent.log: no such file",
            "give the log's path",
        ),
        (["explain", "gpu_losst"], "nothing is called gpu_losst", "did you mean gpu_lost?"),
        (["explain"], "missing argument 'ID'", "gpudiag explain --help shows how it is called"),
    ],
)
def test_mistake(args: list[str], error: str, hint: str) -> None:
    """The line says what is wrong, the next one what to do, and nothing is on standard output."""
    done = gpudiag(*args)

    assert (64, "", f"error: {error}\n help: {hint}\n") == (
        done.returncode,
        done.stdout,
        done.stderr,
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[network\n", "Expected ']' at the end of a table declaration (at line 1, column 9)"),
        ("[network]\npeer = 1\n", "network.peer: unknown key"),
        (
            '[[network.peers]]\nname = "a"\n',
            "network.peers.0: Value error, give lid, port_guid or address",
        ),
        ("[walk]\nsample_s = 99\n", "walk.sample_s: Input should be less than or equal to 10"),
        (
            '[checks."processes.zombi"]\nx = 1\n',
            'table [checks."processes.zombi"]: no check of this name has limits',
        ),
        (
            '[checks."processes.zombie"]\nx = 1\n',
            'table [checks."processes.zombie"]: Object contains unknown field `x`',
        ),
    ],
)
def test_broken_settings(tmp_path: Path, text: str, error: str) -> None:
    """A broken settings file is one line that names the file, the table and the key."""
    path = tmp_path / "gpudiag.toml"
    path.write_text(text)

    done = gpudiag("run", "--config", str(path))

    assert (64, f"error: {path}: {error}") == (done.returncode, done.stderr.splitlines()[0])


def test_a_tool_table_that_others_can_write_is_refused(tmp_path: Path) -> None:
    """Its programs would run with our rights."""
    path = tmp_path / "gpudiag.toml"
    path.write_text('[tools]\nping = "/tmp/ping"\n')
    path.chmod(0o666)

    done = gpudiag("run", "--config", str(path))

    assert (64, f"error: {path}: [tools] is refused: others can write this file") == (
        done.returncode,
        done.stderr.splitlines()[0],
    )


def test_a_recording_cut_in_half(tmp_path: Path) -> None:
    """The file that is cut short is named, and nothing is judged."""
    folder = write(tmp_path / "node-7", commands=[{"argv": ["ping"], "stdout": "x" * 500}])
    cut = folder / "commands" / "0000.json"
    cut.write_text(cut.read_text()[:200])

    done = gpudiag("run", "--replay", str(folder), "--json")

    assert (64, "", True) == (
        done.returncode,
        done.stdout,
        done.stderr.startswith(f"error: {cut}: cut short or not JSON (200 characters"),
    )


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """Standard output that cannot be written is said, and is not a traceback."""
    del tmp_path
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "agent", "explain", "faults"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert (64, "error: output: No space left on device") == (
        done.returncode,
        done.stderr.splitlines()[0],
    )


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """`gpudiag explain faults | head -1` ends quietly."""
    done = subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; {AGENT} explain faults | head -1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ("", 1) == (done.stderr, len(done.stdout.splitlines()))
