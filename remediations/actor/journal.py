"""What was begun, meant, done and ended: one JSON line each, on the disk before the act.

    {"kind": "begin", "id": "9f1c", "at": 1700000000.0, "remedy": "slurm.drain", ...}
    {"kind": "intent", "id": "9f1c", "n": 1, "verb": "slurm_drain", "args": {"reason": "..."}}
    {"kind": "outcome", "id": "9f1c", "n": 1, "ok": true, "said": "drained"}
    {"kind": "end", "id": "9f1c", "outcome": "verified", "said": "..."}

A last line that a crash tore is passed over, and the next begins on a line of its own. Only root
writes here; an older journal is kept as `journal.1.jsonl`, so that the counts outlive a rotation.
"""

import errno
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

MOST_BYTES = 4 << 20
KEPT = 3
LINE_CAP = 16_384
FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW

Line = dict[str, Any]


class Step(NamedTuple):
    """One verb of an action; `outcome` is None where nobody knows whether it was done.

    `doubted` is what was so once: whoever settles it later is believed for going on, and not for
    the counts.
    """

    n: int
    verb: str
    args: Mapping[str, Any]
    at: float
    outcome: Line | None
    doubted: bool = False


class Acted(NamedTuple):
    """One action as the journal has it."""

    id: str
    begin: Line
    steps: tuple[Step, ...]
    end: Line | None

    @property
    def touched(self) -> bool:
        """Return whether something may have been changed by it."""
        return any(s.outcome is None or s.outcome["ok"] or s.doubted for s in self.steps)

    def did(self, verb: str, args: Mapping[str, Any]) -> bool:
        """Return whether it surely did *verb* with these arguments."""
        known = (s for s in self.steps if s.outcome is not None and s.outcome["ok"])
        return any(step.verb == verb and dict(step.args) == dict(args) for step in known)


class Journal:
    """The file in the actor's state directory."""

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most = most
        self.path = folder / "journal.jsonl"

    def write(self, line: Line) -> None:
        """Append *line*; when this returns, it is on the disk."""
        text = _text(line)
        if len(text) > LINE_CAP:
            raise ValueError(f"a line of {len(text)} bytes")
        new = not self.path.exists()
        with self.locked("write"):
            handle = os.open(self.path, FLAGS, 0o600)
            try:
                whole = (b"" if _whole(handle) else b"\n") + text
                if os.write(handle, whole) != len(whole):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
                os.fsync(handle)
            finally:
                os.close(handle)
        if new:
            _keep_name(self._folder)

    def actions(self) -> dict[str, Acted]:
        """Return all actions that are still known, the oldest first."""
        found: dict[str, Acted] = {}
        for line in self.lines():
            _take(found, line)
        return found

    def lines(self) -> Iterator[Line]:
        """Yield what is whole, the oldest first; what a rotation carried over comes twice."""
        for path in (*self._older(), self.path):
            try:
                text = path.read_bytes()
            except FileNotFoundError:
                continue
            yield from filter(None, map(_parsed, text.split(b"\n")))

    def _older(self) -> list[Path]:
        return [self._folder / f"journal.{n}.jsonl" for n in range(KEPT, 0, -1)]

    def rotate(self, keep: Callable[[Acted], bool]) -> None:
        """Begin a new file where this one is long, with what is to *keep* at its head.

        So nobody who asks often makes the actor forget. Nobody writes meanwhile.
        """
        if not self.path.exists() or self.path.stat().st_size < self._most:
            return
        with self.locked("write"):
            self._rotate(keep)

    def _rotate(self, keep: Callable[[Acted], bool]) -> None:
        kept = {one.id for one in self.actions().values() if keep(one)}
        head = {_text(line): None for line in self.lines() if line["id"] in kept}
        fresh = self._folder / "journal.new"
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, FLAGS, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.writelines(head)
            file.flush()
            os.fsync(handle)
        older = [*self._older(), self.path]
        for to, path in pairwise(older):
            if path.exists():
                path.replace(to)
        fresh.replace(self.path)
        _keep_name(self._folder)

    @contextmanager
    def locked(self, what: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold the lock named *what*; yield whether it is held. It ends with the process."""
        handle = os.open(self._folder / f"{what}.lock", FLAGS, 0o600)
        try:
            yield _lock(handle, wait=wait)
        finally:
            os.close(handle)


def _text(line: Line) -> bytes:
    return json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _lock(handle: int, *, wait: bool) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _whole(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size == 0 or os.pread(handle, 1, size - 1) == b"\n"


def _keep_name(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _parsed(text: bytes) -> Line | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    fits = isinstance(line, dict) and isinstance(line.get("id"), str) and "kind" in line
    return line if fits else None


def _take(found: dict[str, Acted], line: Line) -> None:
    key, kind = line["id"], line["kind"]
    if kind == "begin":
        found[key] = Acted(key, line, (), None)
        return
    acted = found.get(key)
    if acted is None:
        return
    if kind == "intent" and all(step.n != line["n"] for step in acted.steps):
        step = Step(line["n"], line["verb"], line["args"], line["at"], None)
        found[key] = acted._replace(steps=(*acted.steps, step))
    elif kind == "outcome":
        told = {"doubted": True} if line.get("unsure") else {"outcome": line}
        steps = tuple(s._replace(**told) if s.n == line["n"] else s for s in acted.steps)
        found[key] = acted._replace(steps=steps)
    elif kind == "end":
        found[key] = acted._replace(end=line)
