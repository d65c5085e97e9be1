"""Files of processes, kept open between questions: to open one costs as much as to read it.

The kernel writes a file of /proc anew at each reading from its start. Of a process that has ended
it says ESRCH, whoever has its number now: the file is then opened again.
"""

import os
from collections.abc import Collection

# Each is some 5 KiB of the kernel's memory, and one of at least 1,024 descriptors.
MOST = 768


class HeldOpen:
    """The files by their paths; those that find no room are opened each time."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._handles: dict[str, int] = {}

    def read(self, path: str, cap: int) -> bytes:
        """Return the beginning of a file that the kernel writes as one piece; raises OSError."""
        handle = self._handles.get(path)
        if handle is not None:
            try:
                return os.pread(handle, cap, 0)
            except OSError:
                os.close(self._handles.pop(path))
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if len(self._handles) < self._most:
            self._handles[path] = handle
            return os.pread(handle, cap, 0)
        try:
            return os.pread(handle, cap, 0)
        finally:
            os.close(handle)

    def keep(self, paths: Collection[str]) -> None:
        """Close all but these."""
        for path in self._handles.keys() - paths:
            os.close(self._handles.pop(path))

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._handles)
