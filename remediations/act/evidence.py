"""The evidence, saved before anything is changed: one bounded archive an action, root's or ours.

A repair destroys what it repairs: counters are cleared by a reset, the kernel log by a reboot. So
nothing is done where the archive could not be written.
"""

import io
import os
from collections.abc import Iterable
from pathlib import Path

MIB = 1 << 20
# All parts of one archive; what is over it is left out, and named in it.
MOST_BYTES = 64 * MIB
# What must be left on the disk: a node whose disk we filled is worse off than before.
LEAVE_BYTES = 512 * MIB
KEPT = 20
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW


class Bundles:
    """The archives in one folder; the oldest go when there are too many. It blocks."""

    def __init__(
        self, folder: Path, *, most: int = MOST_BYTES, leave: int = LEAVE_BYTES, kept: int = KEPT
    ) -> None:
        self.folder = folder
        self._most = most
        self._leave = leave
        self._kept = kept

    def save(self, name: str, parts: Iterable[tuple[str, bytes]]) -> Path:
        """Write the archive `name.tar.gz`; OSError where it cannot be written whole."""
        import tarfile  # noqa: PLC0415 - half a MiB of each daemon, and most never act

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        disk = os.statvfs(self.folder)
        if disk.f_bavail * disk.f_frsize < self._leave + self._most:
            raise OSError(f"{self.folder} has less than {(self._leave + self._most) // MIB} MiB")
        part, whole = (self.folder / f"{name}.{end}" for end in ("part", "tar.gz"))
        with os.fdopen(os.open(part, FLAGS, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz") as archive:
                for inside, data in self._bounded(parts):
                    entry = tarfile.TarInfo(f"{name}/{inside}")
                    entry.size, entry.mode = len(data), 0o600
                    archive.addfile(entry, io.BytesIO(data))
            file.flush()
            os.fsync(file.fileno())
        part.replace(whole)
        self._expire()
        return whole

    def _bounded(self, parts: Iterable[tuple[str, bytes]]) -> Iterable[tuple[str, bytes]]:
        left, out = self._most, []
        for name, data in parts:
            if len(data) > left:
                out.append(f"{name}: {len(data)} bytes, left out: over {self._most // MIB} MiB\n")
                continue
            left -= len(data)
            yield name, data
        if out:
            yield "LEFT_OUT", "".join(out).encode()

    def _expire(self) -> None:
        every = sorted(self.folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime)
        for path in every[: -self._kept]:
            path.unlink(missing_ok=True)
