"""Paths that match patterns, as `glob` matches them: each folder is listed once for a question."""

import fnmatch
import glob
import os
import time
from collections.abc import Iterable

# Folders whose times say nothing of what is in them.
UNSEEN = ("/proc", "/sys", "/dev", "/run")
# The coarsest clock of a file system that is in use, with what two machines' clocks are apart.
SETTLED_NS = 5_000_000_000
MOST_FOLDERS, MOST_KEPT = 256, 256


class Listed:
    """What a folder held at its last look; it is listed anew once it changed.

    Only for folders on a disk: what the kernel shows by itself (/proc, /sys) changes unseen.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[int, int, int, list[str]]] = {}

    def matching(self, folder: str, last: str) -> list[str] | None:
        """Return the names in *folder* that match, None where its time tells nothing."""
        if not folder or folder.startswith(UNSEEN):
            return None
        try:
            now = os.stat(folder)
            mark = (now.st_dev, now.st_ino, now.st_mtime_ns)
            known = self._known.get((folder, last))
            if known is not None and known[:3] == mark:
                return known[3]
            found = _fitting(os.listdir(folder), last)
        except OSError:
            return []
        # What comes within the tick of its clock would not show in its time.
        if time.time_ns() - now.st_mtime_ns > SETTLED_NS and len(found) <= MOST_KEPT:
            self._room()
            self._known[folder, last] = (*mark, found)
        return found

    def _room(self) -> None:
        if len(self._known) >= MOST_FOLDERS:
            self._known.clear()


_listed = Listed()


class Matching:
    """The patterns of one question; what they have in common is looked for once.

    A port has 26 counters, and a tree of PCI devices five levels of the same folders.
    """

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}
        self._held: dict[str, list[str]] = {}

    def likely(self, pattern: str) -> list[str]:
        """Return the paths that match, sorted, and some that are not there.

        Whoever reads them is told as much: each process's stat file is a system call less so.
        """
        if not glob.has_magic(pattern):
            return [pattern]
        if pattern not in self._found:
            head, _, last = pattern.rpartition("/")
            folders = self.likely(head) if head else [""]
            if glob.has_magic(last):
                found = [f"{f}/{name}" for f in folders for name in self._in(f, last)]
            else:
                found = [f"{f}/{last}" for f in folders]
            self._found[pattern] = sorted(found)
        return self._found[pattern]

    def there(self, pattern: str) -> Iterable[str]:
        """Return the paths that match and are there."""
        if glob.has_magic(pattern.rpartition("/")[2]):
            return self.likely(pattern)
        return filter(os.path.lexists, self.likely(pattern))

    def _in(self, folder: str, last: str) -> list[str]:
        if (kept := _listed.matching(folder, last)) is not None:
            return kept
        if folder not in self._held:
            try:
                self._held[folder] = os.listdir(folder or "/")
            except OSError:
                self._held[folder] = []
        return _fitting(self._held[folder], last)


def _fitting(names: Iterable[str], last: str) -> list[str]:
    """Return the names that match; hidden ones only where they are asked for."""
    found = fnmatch.filter(names, last)
    return found if last.startswith(".") else [name for name in found if name[0] != "."]
