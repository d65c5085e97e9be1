"""Paths below another root: links are followed as that root sees them, and never out of it."""

import errno
import fnmatch
import os
import stat
from collections.abc import Iterator

MOST_LINKS = 40


def resolve(root: str, path: str) -> str:
    """Return the real place of *path* below *root*, with no link left in it.

    A link to an absolute path means that path below the root, as it would once the root is mounted
    or entered; one that climbs above the root is refused with EXDEV. Raises OSError. It is not made
    against somebody who changes the tree while it is read.
    """
    base = os.path.realpath(root)
    here: list[str] = []
    todo = path.split("/")[::-1]
    links = 0
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            if not here:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
            here.pop()
            continue
        place = "/".join([base, *here, name])
        if not stat.S_ISLNK(os.lstat(place).st_mode):
            here.append(name)
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(place)
        if target.startswith("/"):
            here.clear()
        todo += target.split("/")[::-1]
    return "/".join([base, *here])


def within(root: str, path: str, known: dict[str, str]) -> str:
    """Return what `resolve` does; *known* keeps the places of folders for one question.

    A file of sysfs lies twelve folders deep: without it, each costs a look at every one of them.
    """
    folder, _, name = path.rpartition("/")
    if name in ("", ".", ".."):
        return resolve(root, path)
    if folder not in known:
        known[folder] = resolve(root, folder)
    place = f"{known[folder]}/{name}"
    return resolve(root, path) if stat.S_ISLNK(os.lstat(place).st_mode) else place


def expand(root: str, pattern: str, known: dict[str, str] | None = None) -> Iterator[str]:
    """Yield the paths, as the root sees them, that match; a last name that is there is enough.

    *known* is that of `within`.
    """
    places = {} if known is None else known
    found = [""]
    segments = pattern.strip("/").split("/")
    for segment in segments:
        found = [path for folder in found for path in _below(root, folder, segment, places)]
    yield from found


def _below(root: str, folder: str, segment: str, known: dict[str, str]) -> Iterator[str]:
    try:
        place = within(root, folder, known)
    except OSError:
        return
    if not any(c in segment for c in "*?["):
        if os.path.lexists(f"{place}/{segment}"):
            yield f"{folder}/{segment}"
        return
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    for name in fnmatch.filter(names, segment):
        if not name.startswith(".") or segment.startswith("."):
            yield f"{folder}/{name}"
