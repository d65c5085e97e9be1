"""Interfaces by rtnetlink: one dump, and from there on what the kernel tells by itself.

Sizes and numbers are those of linux/netlink.h, linux/rtnetlink.h and linux/if_link.h.
"""

import errno
import socket
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any

RTMGRP_LINK = 1
RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_DUMP = 0x001, 0x300
IFF_UP = 0x1
NAME, CARRIER, DOWN_COUNT = 3, 33, 48
# nlmsghdr: length, type, flags, sequence, port; ifinfomsg: family, type, index, flags, change
HEADER, LINK = struct.Struct("=IHHII"), struct.Struct("=BxHiII")
ATTRIBUTE = struct.Struct("=HH")
MESSAGE_CAP = 1 << 18
BUFFER = 1 << 20
# Messages may be lost without an error where a driver sends none.
DUMP_S = 60.0
MOST_MESSAGES = 4096
MOST_LINKS = 1024


class Interfaces:
    """What the kernel says of every interface of this network namespace."""

    def __init__(self) -> None:
        self.requests = 0
        self._links: dict[int, dict[str, Any]] = {}
        self._dumped: float | None = None
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self._socket.bind((0, RTMGRP_LINK))
        self._socket.settimeout(0)

    def now(self) -> dict[str, Any]:
        """Return interfaces by name: `up`, `carrier`, and how often the carrier was lost.

        `carrier` is None for one that is switched off: nobody knows then.
        """
        lost = not self._hear()
        late = self._dumped is None or time.monotonic() - self._dumped >= DUMP_S
        if lost or late:
            self._dump()
        links = list(self._links.values())[:MOST_LINKS]
        return {link["name"]: {k: v for k, v in link.items() if k != "name"} for link in links}

    def fileno(self) -> int:
        """Return the descriptor that can be read when the kernel has told something."""
        return self._socket.fileno()

    def _hear(self) -> bool:
        """Take what the kernel told; return False where some of it found no room."""
        for _ in range(MOST_MESSAGES):
            try:
                self._take(self._socket.recv(MESSAGE_CAP))
            except BlockingIOError:
                return True
            except OSError as problem:
                if problem.errno != errno.ENOBUFS:
                    raise
                return False
        return False

    def _dump(self) -> None:
        """Ask for all interfaces on a socket of its own, so that answer and news do not mix."""
        self.requests += 1
        self._dumped = time.monotonic()
        self._links.clear()
        body = LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        flags = NLM_F_REQUEST | NLM_F_DUMP
        head = HEADER.pack(HEADER.size + len(body), RTM_GETLINK, flags, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC) as asking:
            asking.settimeout(1.0)
            asking.send(head + body)
            while self._take(asking.recv(MESSAGE_CAP)):
                pass

    def _take(self, data: bytes) -> bool:
        """Take the messages of one datagram; return whether more of a dump follows."""
        more = True
        for kind, body in messages(data):
            if kind in (NLMSG_DONE, NLMSG_ERROR):
                more = False
            elif kind in (RTM_NEWLINK, RTM_DELLINK) and (seen := link(body)) is not None:
                index, said = seen
                if kind == RTM_NEWLINK:
                    self._links[index] = said
                else:
                    self._links.pop(index, None)
        return more


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (type, body) of each netlink message; what is cut short ends it."""
    at = 0
    while at + HEADER.size <= len(data):
        length, kind, _, _, _ = HEADER.unpack_from(data, at)
        if length < HEADER.size or at + length > len(data):
            return
        yield kind, data[at + HEADER.size : at + length]
        at += _padded(length)


def link(body: bytes) -> tuple[int, dict[str, Any]] | None:
    """Return (index, what is told) of one link message; None where it has no name."""
    if len(body) < LINK.size:
        return None
    _, _, index, flags, _ = LINK.unpack_from(body)
    told = dict(attributes(body[LINK.size :]))
    name = told.get(NAME, b"").rstrip(b"\0").decode("utf-8", "backslashreplace")
    if not name:
        return None
    up = bool(flags & IFF_UP)
    carrier = told.get(CARRIER, b"")[:1]
    downs = told.get(DOWN_COUNT, b"")
    return index, {
        "name": name,
        "up": up,
        "carrier": carrier == b"\x01" if up and carrier else None,
        "downs": int.from_bytes(downs, sys.byteorder) if downs else None,
    }


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (type, value) of a row of attributes."""
    at = 0
    while at + ATTRIBUTE.size <= len(data):
        length, kind = ATTRIBUTE.unpack_from(data, at)
        if length < ATTRIBUTE.size or at + length > len(data):
            return
        # The two highest bits say how the value is built.
        yield kind & 0x3FFF, data[at + ATTRIBUTE.size : at + length]
        at += _padded(length)


def _padded(length: int) -> int:
    return (length + 3) & ~3
