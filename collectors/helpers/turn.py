"""Whose turn it is to ask a thing that bears one at a time, among all of gpudiag on this node.

The agent and a `gpudiag run` beside it each have helpers of their own. The right is a lock on a
file, held by the helper's parent: one that hangs in the driver cannot keep it.
"""

import asyncio
import contextlib
import fcntl
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

PAUSE_S = 0.05
MODE = 0o660


class Turn:
    """The right to ask one resource; several questions of one program share it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._asking = 0
        self.elsewhere = False

    @classmethod
    def open(cls, folder: str, name: str) -> Self | None:
        """Return the right to *name*, kept in *folder*; None where we may not take part.

        Opens a file, so before a loop runs. A user whom the folder does not let in asks without: he
        must not be able to hold a lock against the agent.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            place = Path(folder).stat()
            handle = os.open(f"{folder}/{name}", flags, MODE)
        except OSError:
            return None
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            os.close(handle)
            return None
        if seen.st_uid == os.geteuid():
            # Root may come first, and the agent must be let in after it.
            with contextlib.suppress(OSError):
                os.fchown(handle, place.st_uid, place.st_gid)
                os.fchmod(handle, MODE)
        return cls(handle)

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Wait for the right, and hold it."""
        while not self._asking and not self._taken():
            self.elsewhere = True
            await asyncio.sleep(PAUSE_S)
        self.elsewhere = False
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                fcntl.flock(self._handle, fcntl.LOCK_UN)

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Give it up."""
        os.close(self._handle)
