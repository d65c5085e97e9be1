"""What a stranger meets first: the Makefile and the scripts that it calls."""

import ast
import os
import platform
import shutil
import sys
from pathlib import Path
from subprocess import run

import pytest

from deploy.dev import install_tools, set_up

ROOT = Path(__file__).parents[1]


def make(*arguments: str) -> tuple[int, str, str]:
    """Run make in the checkout and return its status, output and errors."""
    argv = ["make", "--no-print-directory", *arguments]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    ran = run(argv, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    return ran.returncode, ran.stdout, ran.stderr


def installed(folder: Path, status: int) -> str:
    """Make an environment whose gpudiag prints a word and ends with *status*; return its VENV=."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "gpudiag"
    command.write_text(f"#!/bin/sh\necho walked $*\nexit {status}\n")
    command.chmod(0o755)
    (folder / ".installed-run").touch()
    return f"VENV={folder}"


@pytest.mark.parametrize("status", [0, 1, 2, 3])
def test_a_verdict_is_no_error_of_make(status: int, tmp_path: Path) -> None:
    """A walk that was made ends `make run` well, whatever it found: no line of make."""
    expected = (0, "walked run --json\n", "")
    assert make("run", installed(tmp_path, status), "ARGS=--json") == expected


@pytest.mark.parametrize("status", [64, 70])
def test_a_walk_that_was_not_made_fails(status: int, tmp_path: Path) -> None:
    """Wrong usage and own errors are failures of `make run` too."""
    ended, said, _ = make("run", installed(tmp_path, status))
    assert (ended, said) == (2, "walked run\n")


def test_no_such_python(tmp_path: Path) -> None:
    """An interpreter that is not there is one line that says what to give instead."""
    _, _, errors = make("install", f"VENV={tmp_path}", "PYTHON=python9.9")
    expected = (
        "set-up: there is no python9.9 here; gpudiag needs Python 3.11 or newer: "
        "give one with PYTHON=python3.11"
    )
    assert errors.splitlines()[0] == expected


def test_help_is_the_default() -> None:
    """`make` alone lists every command for people, and starts nothing."""
    status, said, errors = make()
    targets = {line.split()[1] for line in said.splitlines()}
    promised = {"install", "run", "test", "demo", "lint", "bench", "score", "fuzz", "soak", "build"}
    assert (status, errors, promised - targets) == (0, "", set())


def test_old_python_can_read_the_script() -> None:
    """Python 3.6 parses set_up.py: an old interpreter reaches the line that refuses it."""
    text = Path(set_up.__file__).read_text()
    tree = ast.parse(text, feature_version=(3, 6))
    assert isinstance(tree, ast.Module)


def test_old_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter before 3.11 is named, with what to give instead."""
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    monkeypatch.setattr(platform, "python_version", lambda: "3.10.4")
    with pytest.raises(SystemExit) as ended:
        set_up.check_python()
    expected = (
        "set-up: /usr/bin/python3 is Python 3.10.4; gpudiag needs 3.11 or newer: "
        "give one with PYTHON=python3.11"
    )
    assert ended.value.code == expected


def test_version_of_environment(tmp_path: Path) -> None:
    """An environment says its version in pyvenv.cfg; one without interpreter counts as none."""
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    before = set_up.version_of(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    assert (before, set_up.version_of(tmp_path)) == ("", "3.12")


def test_pip_failure_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """A step that fails ends set-up with the step's name and status, below its own words."""
    with pytest.raises(SystemExit) as ended:
        set_up.run("install", sys.executable, "-c", "import sys; sys.exit('no room')")
    expected = ("set-up: install: failed with status 1; the reason stands above", "no room\n")
    assert (ended.value.code, capfd.readouterr().err) == expected


def test_missing_tools() -> None:
    """Only tools that are nowhere on the path are installed."""
    here = {"sh": ["dash"], "no-such-tool": ["no-such-package"]}
    assert install_tools.missing(here) == {"no-such-tool": ["no-such-package"]}


def test_other_system_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where apt-get is not the way, the line names what a person has to install."""
    fedora = {"ID": "fedora", "PRETTY_NAME": "Fedora Linux 43"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: fedora)
    with pytest.raises(SystemExit) as ended:
        install_tools.check_machine({"ibping": ["infiniband-diags"], "opensm": ["opensm"]})
    expected = (
        "tools: Fedora Linux 43 is neither Debian nor Ubuntu; install by hand: ibping, opensm"
    )
    assert ended.value.code == expected


def test_installing_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root nothing is tried, and the line says both ways on."""
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID_LIKE": "debian"})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit) as ended:
        install_tools.check_machine({"opensm": ["opensm"]})
    expected = "tools: installing opensm needs root; run as root, or without TOOLS"
    assert ended.value.code == expected


@pytest.mark.parametrize("before", [None, "#!/bin/sh\nexit 0\n", install_tools.FORBID])
def test_services_are_forbidden_only_meanwhile(
    before: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While packages install no service may start; afterwards the machine's own word holds.

    A policy of ours that a killed run left behind is no word of the machine.
    """
    policy = tmp_path / "policy-rc.d"
    monkeypatch.setattr(install_tools, "POLICY", policy)
    if before is not None:
        policy.write_text(before)
    with install_tools.no_service_starts():
        meanwhile = run([shutil.which("sh") or "sh", str(policy)], check=False).returncode
    after = policy.read_text() if policy.exists() else None
    expected = (101, None if before == install_tools.FORBID else before)
    assert (meanwhile, after) == expected
