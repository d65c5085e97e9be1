"""A folder that forgets in a crash what was not synced: sectors, lengths and names, each alone."""

import errno
import os
from collections.abc import Callable

SECTOR = 512
Choose = Callable[[str], bool]


class Inode:
    """A file's bytes as they are read now, and as they surely are on disk."""

    def __init__(self) -> None:
        self.live = bytearray()
        self.synced = b""

    def after_crash(self, choose: Choose) -> bytes:
        """Return one of the contents that a crash may leave: any mix of old and new sectors."""
        if bytes(self.live) == self.synced:
            return self.synced
        size = len(self.live) if choose("length") else len(self.synced)
        new, old = bytes(self.live), self.synced
        parts = []
        for at in range(0, size, SECTOR):
            source = new if choose("sector") else old
            parts.append(source[at : at + SECTOR].ljust(SECTOR, b"\0"))
        return b"".join(parts)[:size]


class Volatile:
    """Implements the spool's Folder. `refuse` is an errno that writing gets, `short` tears it."""

    def __init__(self) -> None:
        self.names: dict[str, Inode] = {}
        self._synced_names: dict[str, Inode] = {}
        self._changes: list[tuple[str, str, Inode]] = []
        self.refuse: int | None = None
        self.short = False

    def _allow(self) -> None:
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
        if self.refuse == errno.ENOSPC and self.short:
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
        self._allow()
        inode = self._inode(name)
        inode.synced = bytes(inode.live)

    def sync_names(self) -> None:
        self._allow()
        self._synced_names = dict(self.names)
        self._changes.clear()

    def cut(self, name: str, size: int) -> None:
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
            kept.synced = bytes(kept.live)
        found._synced_names = dict(found.names)
        return found
