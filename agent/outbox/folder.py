"""All that the spool asks of a file system; every call may block, and is made in its thread."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

MODE = 0o600
FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


class Folder(Protocol):
    """One flat folder of files; every call raises OSError.

    What was written lasts only after `sync`, a file's name only after `sync_names`.
    """

    def sizes(self) -> dict[str, int]:
        """Return the files with their sizes in bytes."""
        ...

    def read(self, name: str) -> bytes:
        """Return all bytes of a file."""
        ...

    def write(self, name: str, at: int, data: bytes) -> None:
        """Write all of *data* from byte *at* on; the file is made where it is absent."""
        ...

    def sync(self, name: str) -> None:
        """Wait until the file's bytes are on disk."""
        ...

    def sync_names(self) -> None:
        """Wait until what files there are is on disk."""
        ...

    def cut(self, name: str, size: int) -> None:
        """Shorten a file."""
        ...

    def replace(self, old: str, new: str) -> None:
        """Give a file another name, in place of whatever had it."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file."""
        ...


class Disk:
    """A real folder, readable by its owner alone."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sizes(self) -> dict[str, int]:
        """Return the regular files with their sizes; the folder is made where it is absent."""
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.scandir(self._path) as entries:
            seen = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
        return {name: s.st_size for name, s in seen.items() if stat.S_ISREG(s.st_mode)}

    def read(self, name: str) -> bytes:
        """Return all bytes of a file."""
        with self._open(name, os.O_RDONLY) as handle:
            parts = []
            while part := os.read(handle, 1 << 20):
                parts.append(part)
            return b"".join(parts)

    def write(self, name: str, at: int, data: bytes) -> None:
        """Write all of *data*, however many calls that takes."""
        with self._open(name, os.O_WRONLY | os.O_CREAT) as handle:
            left = memoryview(data)
            while left:
                written = os.pwrite(handle, left, at)
                if written == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                left, at = left[written:], at + written

    def sync(self, name: str) -> None:
        """Wait for the file's bytes and its size."""
        with self._open(name, os.O_WRONLY) as handle:
            os.fdatasync(handle)

    def sync_names(self) -> None:
        """Wait for the folder itself."""
        handle = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def cut(self, name: str, size: int) -> None:
        """Truncate."""
        with self._open(name, os.O_WRONLY) as handle:
            os.ftruncate(handle, size)

    def replace(self, old: str, new: str) -> None:
        """Rename."""
        (self._path / old).replace(self._path / new)

    def remove(self, name: str) -> None:
        """Unlink."""
        (self._path / name).unlink()

    @contextmanager
    def _open(self, name: str, flags: int) -> Iterator[int]:
        handle = os.open(self._path / name, flags | FLAGS, MODE)
        try:
            yield handle
        finally:
            os.close(handle)
