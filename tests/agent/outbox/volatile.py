"""A folder that forgets in a crash what was not synced: sectors, lengths and names, each alone."""

import errno
import os
from collections.abc import Callable

SECTOR = 512
Choose = Callable[[str], bool]


class Inode:
    """A file's bytes as they are read now, as they surely are on disk, and as the kernel thinks.

    After a sync that failed Linux holds the pages for clean: a later sync does not write them.
    """

    def __init__(self) -> None:
        self.live = bytearray()
        self.synced = b""
        self._clean = b""

    def sync(self) -> None:
        """Bring to disk what changed since the kernel last thought that all was there."""
        new, old = bytes(self.live), self.synced.ljust(len(self.live), b"\0")
        parts = [
            (old if new[at:end] == self._clean[at:end] else new)[at:end]
            for at in range(0, len(new), SECTOR)
            for end in (at + SECTOR,)
        ]
        self.synced = b"".join(parts)
        self._clean = new

    def fail_to_sync(self) -> None:
        """Take all for clean, though nothing came to disk."""
        self._clean = bytes(self.live)

    def after_crash(self, choose: Choose) -> bytes:
        """Return one of the contents that a crash may leave: any mix of old and new sectors."""
        size = len(self.live) if choose("length") else len(self.synced)
        new, old = bytes(self.live), self.synced
        parts = []
        for at in range(0, size, SECTOR):
            source = new if choose("sector") else old
            parts.append(source[at : at + SECTOR].ljust(SECTOR, b"\0"))
        return b"".join(parts)[:size]


class Volatile:
    """Implements the spool's Folder.

    `refuse` is an errno that all changes get, `where` narrows it: "short" tears writes in the
    middle, at "sync" writing goes well and only waiting for the disk fails.
    """

    def __init__(self) -> None:
        self.names: dict[str, Inode] = {}
        self._synced_names: dict[str, Inode] = {}
        self._changes: list[tuple[str, str, Inode]] = []
        self.refuse: int | None = None
        self.where = ""

    def _allow(self) -> None:
        if self.refuse is not None and self.where != "sync":
            raise OSError(self.refuse, os.strerror(self.refuse))

    def _allow_sync(self) -> None:
        if self.refuse is not None:
            raise OSError(self.refuse, os.strerror(self.refuse))

    def _inode(self, name: str) -> Inode:
        if name not in self.names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return self.names[name]

    def sizes(self) -> dict[str, int]:
        return {name: len(inode.live) for name, inode in self.names.items()}

    def read(self, name: str) -> bytes:
        return bytes(self._inode(name).live)

    def write(self, name: str, at: int, data: bytes) -> None:
        if self.refuse is not None and self.where == "short":
            self._put(name, at, data[: len(data) // 2])
        self._allow()
        self._put(name, at, data)

    def _put(self, name: str, at: int, data: bytes) -> None:
        if name not in self.names:
            self.names[name] = Inode()
            self._changes.append(("", name, self.names[name]))
        live = self.names[name].live
        live.extend(bytes(max(0, at - len(live))))
        live[at : at + len(data)] = data

    def sync(self, name: str) -> None:
        inode = self._inode(name)
        if self.refuse is not None:
            inode.fail_to_sync()
        self._allow_sync()
        inode.sync()

    def sync_names(self) -> None:
        self._allow_sync()
        self._synced_names = dict(self.names)
        self._changes.clear()

    def cut(self, name: str, size: int) -> None:
        if self.refuse != errno.ENOSPC:  # a full disk can shorten a file
            self._allow()
        del self._inode(name).live[size:]

    def replace(self, old: str, new: str) -> None:
        self._allow()
        inode = self.names[new] = self._inode(old)
        del self.names[old]
        self._changes.append((old, new, inode))

    def remove(self, name: str) -> None:
        self._allow()
        self._changes.append((name, "", self._inode(name)))
        del self.names[name]

    def crash(self, choose: Choose) -> "Volatile":
        """Return the folder as it is found after one: each change of names is there or is not."""
        names = dict(self._synced_names)
        for old, new, inode in self._changes:
            if not choose("name"):
                continue
            if old and names.get(old) is inode:
                del names[old]
            if new:
                names[new] = inode
        found = Volatile()
        for name, inode in names.items():
            kept = found.names[name] = Inode()
            kept.live = bytearray(inode.after_crash(choose))
            kept.sync()
        found._synced_names = dict(found.names)
        return found
