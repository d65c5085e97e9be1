"""The verb `files`: many small files of /proc, /sys and /etc in one question."""

import errno
import os
import re
import stat
from typing import Any, BinaryIO

from collectors.helpers.children import rooted
from collectors.helpers.children.held_open import HeldOpen
from collectors.helpers.children.matching import Matching

MOST_FILES = 40_000
MOST_BYTES = 24 << 20
MOST_COUNTED = 512 << 20
# Files below /sys are one piece of at most a page: what comes short of that is all of it.
PAGE = 4096
# The dearest that is read, of every process twice a minute.
STATS = "/proc/[0-9]*/stat"
STAT = re.compile(r"/proc/[0-9]{1,10}/stat$")


def _place(root: str, path: str, known: dict[str, str]) -> str:
    """Return where to read *path*; a device below another root is this machine's."""
    place = rooted.within(root, path, known)
    if not stat.S_ISREG(os.lstat(place).st_mode) and not os.path.isdir(place):
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO), path)
    return place


_stats = HeldOpen()


def _read(path: str, cap: int) -> str:
    if STAT.match(path):
        return _stats.read(path, cap).decode("utf-8", "backslashreplace")
    # O_NONBLOCK: a FIFO or a tty that stands where a file should must not hold the child.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        piece = os.read(handle, cap)
        if len(piece) < min(cap, PAGE) and path.startswith("/sys/"):
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
    own = root == "/"
    texts: dict[str, str] = {}
    errors: dict[str, str] = {}
    matching = Matching()
    known: dict[str, str] = {}
    total = 0
    for pattern in patterns:
        for path in matching.likely(pattern) if own else rooted.expand(root, pattern, known):
            if len(texts) >= MOST_FILES or total >= MOST_BYTES:
                errors[path] = "E2BIG"
                continue
            try:
                texts[path] = _read(path if own else _place(root, path, known), cap)
                total += len(texts[path])
            except OSError as problem:
                # ESRCH: a process that ended between the listing and the read is simply gone.
                there = problem.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ESRCH)
                if there and (problem.errno != errno.EACCES or os.path.lexists(path)):
                    errors[path] = errno.errorcode.get(problem.errno or 0, "EIO")
    if own and STATS in patterns:
        _stats.keep(texts)
    for pattern in names:
        for path in matching.there(pattern) if own else rooted.expand(root, pattern, known):
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
