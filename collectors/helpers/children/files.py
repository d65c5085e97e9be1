"""The verb `files`: many small files of /proc, /sys and /etc in one question."""

import errno
import fnmatch
import glob
import os
import re
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO

from collectors.helpers.children import rooted

MOST_FILES = 40_000
MOST_BYTES = 24 << 20
MOST_COUNTED = 512 << 20
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


def _globbed(pattern: str, names: dict[str, list[str]]) -> Iterator[str]:
    """Return what `glob` does; a folder of thousands of libraries is listed once for a question."""
    folder, _, last = pattern.rpartition("/")
    start = PLAIN.match(last)
    if start is None or not start[0] or start[0] == last or glob.has_magic(folder):
        return glob.iglob(pattern)
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
        pieces = []
        left = cap
        while left > 0 and (piece := os.read(handle, left)):
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
