"""Make .venv and install gpudiag into it: `python3 deploy/dev/set_up.py run|test|torch`.

Called by the Makefile with whatever Python the machine has, so that this file keeps to the
syntax of Python 3.6: an old interpreter must reach the line that says it is too old.
"""

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
SETS = {"run": ".", "test": ".[test]", "torch": ".[test,torch]"}


def check_python() -> None:
    """Refuse an interpreter that is too old or that cannot make environments."""
    if sys.version_info < OLDEST:
        sys.exit(
            f"set-up: {sys.executable} is Python {platform.python_version()}; gpudiag needs 3.11 "
            "or newer: give one with PYTHON=python3.11",
        )
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        sys.exit(
            f"set-up: {sys.executable} cannot make virtual environments; on Debian or Ubuntu: "
            "apt-get install python3-venv",
        )


def version_of(venv: Path) -> str:
    """Return "3.11" for an environment of Python 3.11, "" where there is none."""
    if not (venv / "bin" / "python").exists():
        return ""
    lines = (venv / "pyvenv.cfg").read_text().splitlines()
    found = [line.split("=")[1].strip() for line in lines if line.startswith("version")]
    return ".".join(found[0].split(".")[:2]) if found else ""


def run(what: str, *argv: str) -> None:
    """Run one step; its own output is the explanation when it fails."""
    print("set-up: " + what, flush=True)
    status = subprocess.call(argv, cwd=str(ROOT))
    if status:
        sys.exit(f"set-up: {what}: failed with status {status}; the reason stands above")


def main(wanted: str) -> None:
    """Make the environment where it is missing or of another Python, then install."""
    check_python()
    mine = "{}.{}".format(*sys.version_info[:2])
    if version_of(VENV) != mine:
        run("make .venv with Python " + mine, sys.executable, "-m", "venv", "--clear", str(VENV))
    python = str(VENV / "bin" / "python")
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    pip = (python, "-m", "pip", "install", "-qq", "-c", "constraints.txt", "-e", SETS[wanted])
    run("install gpudiag and what it needs to " + wanted, *pip)
    for done in ("run", wanted):
        (VENV / (".installed-" + done)).touch()


if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in SETS]:
        sys.exit("set-up: say what for: set_up.py run, test or torch")
    main(sys.argv[1])
