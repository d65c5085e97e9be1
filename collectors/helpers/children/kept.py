"""What a root helper keeps between runs: a folder that is root's alone, or nothing at all.

systemd names the folder of a unit in CACHE_DIRECTORY. What others could have written is not read.
"""

import contextlib
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from typing import Any

from collectors.helpers.children.loop import Refused

FOLDER = "/var/cache/gpudiag"
MOST_BYTES = 4 << 20


def folder() -> str | None:
    """Return the folder, made where it is missing; None where there is none to be trusted."""
    path = os.environ.get("CACHE_DIRECTORY", FOLDER).partition(":")[0]
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        seen = os.lstat(path)
    except OSError:
        return None
    return path if stat.S_ISDIR(seen.st_mode) and _ours(seen) else None


def read(name: str) -> bytes | None:
    """Return what was kept under *name*."""
    if (path := folder()) is None:
        return None
    try:
        handle = os.open(f"{path}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with open(handle, "rb") as file:
        return file.read(MOST_BYTES) if _ours(os.fstat(handle)) else None


def write(name: str, data: bytes) -> None:
    """Keep *data* under *name*, whole or not at all; where nothing can be written, nothing is."""
    if (path := folder()) is None:
        return
    part = f"{path}/{name}.{os.getpid()}"
    with contextlib.suppress(OSError):
        with open(part, "wb", opener=_private) as file:
            file.write(data)
        os.replace(part, f"{path}/{name}")


def recent(name: str, seconds: float) -> tuple[Any, float] | None:
    """Return an answer kept under *name* less than *seconds* ago, with its age."""
    try:
        kept = json.loads(read(name) or b"null")
        age = time.time() - float(kept["taken"])
        return (kept["answer"], age) if 0 <= age < seconds else None
    except (ValueError, TypeError, KeyError):
        return None


def keep(name: str, answer: Any) -> None:  # noqa: ANN401 - JSON
    """Keep an answer with the time at which it was taken."""
    write(name, json.dumps({"taken": time.time(), "answer": answer}).encode())


@contextlib.contextmanager
def alone(name: str, seconds: float) -> Iterator[None]:
    """Hold the only right to *name* among all helpers of this node; waits at most *seconds*."""
    if (path := folder()) is None:
        yield
        return
    with open(f"{path}/{name}.lock", "wb", opener=_private) as lock:
        end = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    detail = f"another helper has been asking the {name} for {seconds:g} s"
                    raise Refused("timeout", detail) from None
            time.sleep(0.05)  # noqa: TID251 - a helper process has no loop to stop
        yield


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _ours(seen: os.stat_result) -> bool:
    return seen.st_uid == os.geteuid() and not seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
