"""What outlives the daemon: files in /var/lib/gpudiag, each replaced whole by a thread."""

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from collectors.kernel.following import Cursor
from diagnostics.incidents.life import Life

SCHEMA: Literal["gpudiag.state/1"] = "gpudiag.state/1"
NAME = "state.json"
STATE_CAP = 16 << 20


T = TypeVar("T", bound=msgspec.Struct)


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The whole state.

    `sequence` counts the walks on this node and never goes back. `running` is true from start to a
    stop in order: found at start, the one before did not end by itself. `released_until` (epoch
    seconds) is how long the driver is not to be opened. `kernel` is up to which record the kernel
    log was read. What the node had, and what its runs took, `past` and `runs` keep in files of
    their own.
    """

    schema: Literal["gpudiag.state/1"] = SCHEMA
    sequence: int = 0
    boot_id: str | None = None
    running: bool = False
    released_until: float = 0.0
    kernel: Cursor | None = None
    incidents: dict[str, Life] = {}


def read(folder: Path) -> tuple[State, str | None]:
    """Return the kept state, and what was wrong with it."""
    found, problem = load(folder / NAME, State)
    return found or State(), problem


def load(path: Path, shape: type[T]) -> tuple[T | None, str | None]:
    """Return what a file keeps, and what was wrong with it; a damaged one is put aside."""
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(STATE_CAP), type=shape), None
    except FileNotFoundError:
        return None, None
    except OSError as problem:
        return None, f"{path}: {problem.strerror}; it starts without what it knew"
    except msgspec.DecodeError as problem:
        aside = path.with_suffix(".damaged")
        with contextlib.suppress(OSError):
            path.replace(aside)
        return None, f"{path}: {problem}; put aside as {aside.name}, it starts without it"


def write(folder: Path, data: bytes, *, name: str = NAME) -> None:
    """Replace the file on disk: whole or not at all, and there after a power cut."""
    part = folder / f"{name}.part"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / name)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(place)
    finally:
        os.close(place)


class Writer:
    """One thread that writes the newest state; a disk that hangs holds up nothing but itself.

    Only the newest waits: the state is whole each time, so that one between may be left out.
    """

    def __init__(
        self, folder: Path, write: Callable[[Path, bytes], None] = write, name: str = NAME
    ) -> None:
        self.problem: str | None = None
        self._name = name
        self._folder = folder
        self._write = write
        self._next: bytes | None = None
        self._ended = False
        self._turn = threading.Condition()
        # A daemon thread: a write that never returns must not hold up the exit.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, state: msgspec.Struct) -> None:
        """Have *state* written; returns at once."""
        data = msgspec.json.encode(state)
        with self._turn:
            self._next = data
            self._turn.notify()

    def close(self, patience_s: float) -> bool:
        """Write what waits and end; return whether that was done in time."""
        with self._turn:
            self._ended = True
            self._turn.notify()
        self._thread.join(patience_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._ended or self._next is not None)
                data, self._next = self._next, None
            if data is None:
                return
            try:
                self._write(self._folder, data)
                self.problem = None
            except OSError as problem:
                self.problem = f"{self._folder}/{self._name}: {problem.strerror}"
