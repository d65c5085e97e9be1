"""Run one tool of the machine, by name, and wait for it; no shell, no word of a caller as option.

A tool that does not end in time is killed; what it did by then nobody knows, and the gate writes
that down as a step without an outcome.
"""

import os
import subprocess  # noqa: TID251 - the actor may wait for a tool; the agent's loop may not
from typing import NamedTuple

from collectors.helpers.children import tools

OUTPUT_CAP = 65_536
KEPT = ("SLURM_CONF",)
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/"}


class Ran(NamedTuple):
    """What a tool printed, and how it ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """Return the first line of what it said went wrong."""
        return (self.stderr.strip() or self.stdout.strip()).partition("\n")[0][:200]


class Unsure(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """Nobody knows whether it was done."""


def run(name: str, *words: str, seconds: float) -> Ran:
    """Run the tool *name*; Refused where it is not installed, Unsure where it did not end."""
    argv = (tools.path(name), *words)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    try:
        ran = subprocess.run(  # noqa: S603 - a tool of a fixed name, words of the verb
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=ENVIRONMENT | kept,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unsure(f"{name} did not end in {seconds:g} s") from None
    return Ran(ran.returncode, _text(ran.stdout), _text(ran.stderr))


def _text(raw: bytes) -> str:
    return raw[:OUTPUT_CAP].decode("utf-8", "backslashreplace")
