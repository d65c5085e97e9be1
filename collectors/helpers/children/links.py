"""The verb `links`: what every port's link is now, by files kept open and by one netlink socket.

Who watches asks it to wait: it looks every second by itself, and answers when something changed, so
that nobody else wakes meanwhile. A port costs three reads of a kept descriptor and an interface
none: the kernel tells of its changes (RTMGRP_LINK), and is asked for all of them once a minute, in
case a message was lost.
"""

import glob
import os
import re
import resource
import select
import time
from typing import Any

from collectors.helpers.children import rooted
from collectors.helpers.children.netlink import Interfaces

PORTS = "/sys/class/infiniband/*/ports/*"
FILES = ("state", "phys_state", "rate")
# A port that comes or goes is seen when its descriptor fails, and at the latest after this.
LIST_S = 10.0
# The kernel tells nobody of a port of InfiniBand: it is looked at.
LOOK_S = 1.0
MOST_WAIT_S = 60
MOST_PORTS = 512
CAP = 128

# mlx5_0/ports/1
PLACE = re.compile(r"([^/]{1,64})/ports/([0-9]{1,3})$")


class Watch:
    """The ports below one root; how often it read, asked and listed is counted for the bench."""

    def __init__(self, root: str) -> None:
        self.reads = self.lists = 0
        self._root = root
        self._ports: dict[str, tuple[int, ...]] = {}
        self._listed: float | None = None
        self._told: dict[str, Any] | None = None
        self._interfaces = Interfaces() if root == "/" else None

    def news(self, wait_s: float) -> dict[str, Any]:
        """Return what `look` does, once it is not what was returned last, or after *wait_s*."""
        until = time.monotonic() + wait_s
        while (seen := self.look()) == self._told and (left := until - time.monotonic()) > 0:
            pause = min(left, LOOK_S if self._ports else LIST_S)
            select.select([] if self._interfaces is None else [self._interfaces], [], [], pause)
        self._told = seen
        return seen

    def look(self) -> dict[str, Any]:
        """Return each port's files by name, and each interface as the kernel last told of it."""
        if self._listed is None or time.monotonic() - self._listed >= LIST_S:
            self._list()
        ports = {name: self._read(handles) for name, handles in self._ports.items()}
        if None in ports.values():
            # Its device went, or is another one under the same name.
            self._list()
            ports = {name: self._read(handles) for name, handles in self._ports.items()}
        said = self._interfaces.now() if self._interfaces is not None else {}
        return {"ports": {n: texts for n, texts in ports.items() if texts}, "interfaces": said}

    def _read(self, handles: tuple[int, ...]) -> list[str] | None:
        texts = []
        for handle in handles:
            self.reads += 1
            try:
                texts.append(os.pread(handle, CAP, 0).decode("utf-8", "backslashreplace"))
            except OSError:
                return None
        return texts

    def _list(self) -> None:
        self.lists += 1
        self._listed = time.monotonic()
        self.close()
        for path in _paths(self._root)[:MOST_PORTS]:
            if (hit := PLACE.search(path)) and (handles := _opened(path)):
                self._ports[f"{hit[1]}/{hit[2]}"] = handles

    def close(self) -> None:
        """Close the files of all ports."""
        for handles in self._ports.values():
            for handle in handles:
                os.close(handle)
        self._ports.clear()


def _paths(root: str) -> list[str]:
    if root == "/":
        return sorted(glob.glob(PORTS))
    return [rooted.resolve(root, path) for path in rooted.expand(root, PORTS)]


def _opened(path: str) -> tuple[int, ...]:
    """Return a port's three files, or none where one of them cannot be opened."""
    handles: list[int] = []
    for name in FILES:
        try:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            handles.append(os.open(f"{path}/{name}", flags))
        except OSError:
            for handle in handles:
                os.close(handle)
            return ()
    return tuple(handles)


watches: dict[str, Watch] = {}


def links(root: str = "/", wait_s: int = 0) -> dict[str, Any]:
    """Return `ports` (texts of state, phys_state and rate) and `interfaces`.

    With *wait_s*, when they are no more what was answered last, and at the latest after so long.
    """
    if root not in watches:
        _room()
        watches[root] = Watch(root)
    return watches[root].news(min(max(wait_s, 0), MOST_WAIT_S))


def _room() -> None:
    """Let this process hold the descriptors of as many ports as it may see."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, len(FILES) * MOST_PORTS + 64)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
