"""The verb `files`: many small files of /proc, /sys and /etc in one question."""

import errno
import fnmatch
import glob
import os
import re
import stat
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from collectors.helpers.children import rooted

MOST_FILES = 40_000
MOST_BYTES = 24 << 20
MOST_COUNTED = 512 << 20
# Folders whose times say nothing of what is in them.
UNSEEN = ("/proc", "/sys", "/dev", "/run")
# The coarsest clock of a file system that is in use, with what two machines' clocks are apart.
SETTLED_NS = 5_000_000_000
MOST_FOLDERS, MOST_KEPT = 256, 256
# Files that the kernel writes as one piece: what comes short of the room for it is all of it.
WHOLE = re.compile(r"/sys/|/proc/[0-9]{1,10}/stat$")
PAGE = 4096
# What stands before the first wildcard.
PLAIN = re.compile(r"[^*?\[]*")


def _matching(
    root: str, pattern: str, names: dict[str, list[str]], known: dict[str, str]
) -> Iterator[str]:
    """Return the paths that match, as the root sees them.

    *names* keeps what folders hold, *known* where they are below another root.
    """
    if root == "/":
        return iter(sorted(_globbed(pattern, names)))
    return rooted.expand(root, pattern, known)


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
            found = fnmatch.filter(os.listdir(folder), last)
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


def _globbed(pattern: str, names: dict[str, list[str]]) -> Iterator[str]:
    """Return what `glob` does; a folder of thousands of libraries is listed once it changed."""
    folder, _, last = pattern.rpartition("/")
    start = PLAIN.match(last)
    if start is None or not start[0] or start[0] == last or glob.has_magic(folder):
        return glob.iglob(pattern)
    if (kept := _listed.matching(folder, last)) is not None:
        return (f"{folder}/{name}" for name in kept)
    if folder not in names:
        try:
            names[folder] = os.listdir(folder or "/")
        except OSError:
            names[folder] = []
    likely = [name for name in names[folder] if name.startswith(start[0])]
    return (f"{folder}/{name}" for name in fnmatch.filter(likely, last))


def _likely(
    root: str, pattern: str, listed: dict[str, list[str]], known: dict[str, str]
) -> Iterator[str]:
    """Return the paths that match, and some that are not there: to read one tells as much.

    Each process's stat file is one system call less so. Folders that several patterns share are
    listed once, and kept in *listed*: a port has 26 counters.
    """
    folders, tail = pattern, ""
    while root == "/" and folders.count("/") > 1 and not glob.has_magic(folders.rpartition("/")[2]):
        folders, _, name = folders.rpartition("/")
        tail = f"/{name}{tail}"
    if not tail:
        return _matching(root, folders, {}, known)
    if folders not in listed:
        listed[folders] = list(_matching(root, folders, {}, known))
    return (folder + tail for folder in listed[folders])


def _place(root: str, path: str, known: dict[str, str]) -> str:
    """Return where to read *path*; a device below another root is this machine's."""
    if root == "/":
        return path
    place = rooted.within(root, path, known)
    if not stat.S_ISREG(os.lstat(place).st_mode) and not os.path.isdir(place):
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO), path)
    return place


def _read(path: str, cap: int) -> str:
    # O_NONBLOCK: a FIFO or a tty that stands where a file should must not hold the child.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        piece = os.read(handle, cap)
        if len(piece) < min(cap, PAGE) and WHOLE.match(path):
            return piece.decode("utf-8", "backslashreplace")
        pieces = [piece]
        left = cap - len(piece)
        while piece and left > 0 and (piece := os.read(handle, left)):
            pieces.append(piece)
            left -= len(piece)
    finally:
        os.close(handle)
    return b"".join(pieces).decode("utf-8", "backslashreplace")


def files(root: str, patterns: list[str], names: list[str], cap: int) -> dict[str, Any]:
    """Return `texts` and `errors` (errno names) of the files under *root* that match."""
    texts: dict[str, str] = {}
    errors: dict[str, str] = {}
    listed: dict[str, list[str]] = {}
    known: dict[str, str] = {}
    total = 0
    for pattern in patterns:
        for path in _likely(root, pattern, listed, known):
            if len(texts) >= MOST_FILES or total >= MOST_BYTES:
                errors[path] = "E2BIG"
                continue
            try:
                texts[path] = _read(_place(root, path, known), cap)
                total += len(texts[path])
            except OSError as problem:
                # ESRCH: a process that ended between the listing and the read is simply gone.
                there = problem.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ESRCH)
                if there and (problem.errno != errno.EACCES or os.path.lexists(path)):
                    errors[path] = errno.errorcode.get(problem.errno or 0, "EIO")
    held: dict[str, list[str]] = {}
    for pattern in names:
        for path in _matching(root, pattern, held, known):
            texts.setdefault(path, "")
    return {"texts": texts, "errors": errors}


def _lines(handle: BinaryIO, size: int) -> int:
    """Return how many lines end in the first *size* bytes."""
    handle.seek(0)
    found = 0
    while size > 0 and (block := handle.read(min(size, 1 << 20))):
        found += block.count(b"\n")
        size -= len(block)
    return found


def log_tail(path: str, cap: int) -> dict[str, Any]:
    """Return the last *cap* bytes of a log, with the number of its first whole line.

    The number is None where more than MOST_COUNTED bytes stand before: a disk takes minutes for
    what a person waits for.
    """
    with open(path, "rb") as handle:
        size = handle.seek(0, os.SEEK_END)
        start = max(size - cap, 0)
        line = _lines(handle, start) + 1 if start <= MOST_COUNTED else None
        handle.seek(start)
        text = handle.read(cap)
    if start:
        head, end, text = text.partition(b"\n")
        start += len(head) + len(end)
        line = None if line is None else line + len(end)
    return {
        "text": text.decode("utf-8", "backslashreplace"),
        "first_line": line,
        "skipped_bytes": start,
    }
