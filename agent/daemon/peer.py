"""Who is at the other end of the local socket, by the kernel's word."""

import grp
import os
import socket
import struct

import msgspec

GROUP = "gpudiag"
# include/uapi/asm-generic/socket.h; the module does not name it.
SO_PEERGROUPS = 59
# Python takes 1 KiB of a socket option at most.
MOST_GROUPS = 256


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A caller; one who is `trusted` sees all, and may ask for more than to see."""

    uid: int
    trusted: bool


def trusted_group() -> int | None:
    """Return the id of the group gpudiag, None where this node has none.

    Asked before the loop runs: a directory server behind the name service can be slow.
    """
    try:
        return grp.getgrnam(GROUP).gr_gid
    except KeyError:
        return None


def peer(connection: socket.socket, group: int | None) -> Peer:
    """Return who connected: root, the agent's own user and members of *group* are trusted."""
    held = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, gid = struct.unpack("3i", held)
    member = group is not None and group in {gid, *_groups(connection)}
    return Peer(uid=uid, trusted=uid in (0, os.geteuid()) or member)


def _groups(connection: socket.socket) -> tuple[int, ...]:
    try:
        held = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, 4 * MOST_GROUPS)
    except OSError:
        # ERANGE: in more groups than there is room for; he is told as much as a stranger.
        return ()
    return struct.unpack(f"{len(held) // 4}I", held)
