"""Open a file with the rights of another user, so that a job's names cannot reach past its own."""

import contextlib
import ctypes
import os
import pwd
import re
from collections.abc import Iterator
from typing import NamedTuple

from collectors.helpers.children.loop import Refused

# Uid:    1042    1042    1042    1042        real, effective, saved, of the file system
UIDS = re.compile(rb"^Uid:\s+\d+\s+(\d+)", re.MULTILINE)
GIDS = re.compile(rb"^Gid:\s+\d+\s+(\d+)", re.MULTILINE)
GROUPS = re.compile(rb"^Groups:[ \t]*([\d \t]*)$", re.MULTILINE)
MOST_GROUPS = 1024
STATUS_CAP = 65_536


class User(NamedTuple):
    """As whom a process runs."""

    uid: int
    gid: int
    groups: tuple[int, ...]

    @property
    def home(self) -> str | None:
        """Return the user's folder as the node's own files say."""
        try:
            return pwd.getpwuid(self.uid).pw_dir
        except KeyError:
            return None


def of(pid: int) -> User:
    """Return as whom a process runs; raises OSError where it is gone."""
    handle = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(handle, STATUS_CAP)
    finally:
        os.close(handle)
    uid, gid, groups = UIDS.search(text), GIDS.search(text), GROUPS.search(text)
    if uid is None or gid is None:
        raise Refused("garbled", f"/proc/{pid}/status names no user")
    listed = groups[1].split()[:MOST_GROUPS] if groups else []
    return User(int(uid[1]), int(gid[1]), tuple(map(int, listed)))


@contextlib.contextmanager
def rights_of(user: User) -> Iterator[None]:
    """Have the rights of *user* on files meanwhile; without root, our own are all there are."""
    if os.geteuid() != 0 or user.uid == 0:
        yield
        return
    libc = ctypes.CDLL(None)
    groups = os.getgroups()
    try:
        os.setgroups(user.groups)
        libc.setfsgid(user.gid)
        libc.setfsuid(user.uid)
        # It reports no failure; asked for what cannot be, it says what is.
        if libc.setfsuid(-1) != user.uid or libc.setfsgid(-1) != user.gid:
            raise Refused("denied", f"the rights of uid {user.uid} cannot be taken")
        yield
    finally:
        libc.setfsuid(0)
        libc.setfsgid(0)
        os.setgroups(groups)
