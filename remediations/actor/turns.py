"""One change of one limit at a time: each GPU's and the BMC's for itself.

A driver that hangs in a change of one GPU holds up neither the others nor the BMC. All locks are
places in one file: names come from the caller, and no caller may fill a folder with files.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from remediations.actor.registry import Refused

NAME = "cap.lock"
WAIT_S = 5.0
FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def alone(folder: Path, name: str) -> Iterator[None]:
    """Be the only one who changes the limit of *name*; Refused where another does not end."""
    handle = os.open(folder / NAME, FLAGS, 0o600)
    end = time.monotonic() + WAIT_S
    try:
        while not _taken(handle, place(name)):
            if time.monotonic() > end:
                raise Refused("timeout", f"another change of the limit of {name} does not end")
            time.sleep(0.05)  # noqa: TID251 - this process serves one caller, and no loop runs in it
        yield
    finally:
        os.close(handle)


def place(name: str) -> int:
    """Return the byte that stands for a GPU's address; the BMC has the first, by whatever way."""
    digits = name.replace(":", "").replace(".", "")
    return 1 + int(digits, 16) if ":" in name else 0


def _taken(handle: int, place: int) -> bool:
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):
        return False
    return True
