"""Mounts that a job can read from or write to, each asked for its room (statfs)."""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.at_once import at_once
from collectors.node.protocol import Node

# 43 27 7:1 / /data rw,relatime shared:1 - ext4 /dev/loop1 rw,errors=remount-ro
LINE = re.compile(
    r"\d+ \d+ (?P<device>\d+:\d+) [^ ]+ (?P<point>/[^ ]*) (?P<options>[^ ]+)(?: [^ ]+)* - "
    r"(?P<fstype>[^ ]+) (?P<source>[^ ]*) (?P<state>[^ ]+)"
)
# UUID=1f2e /scratch xfs defaults,noatime 0 2
FSTAB = re.compile(r"[^#\s]\S*\s+(?P<point>/\S*)\s+(?P<fstype>\S+)\s+(?P<options>\S+)")
OCTAL = re.compile(r"\\([0-7]{3})")

# A service's own view shows all as read-only (ProtectSystem): the first process sees the node.
VIEWS = ("/proc/1/mountinfo", "/proc/self/mountinfo")
LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs"})
NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "afs", "9p", "virtiofs"),
        *("lustre", "gpfs", "beegfs", "ceph", "wekafs", "orangefs", "panfs", "pvfs2"),
    }
)
# Where stat() gives the number that mountinfo has; btrfs, say, has one for each subvolume instead.
NUMBERED = LOCAL - {"btrfs", "bcachefs"} | {"nfs", "nfs4", "tmpfs"}
# Of memory file systems only those that programs write to by custom; "/" is a diskless node's root.
MEMORY_POINTS = frozenset({"/", "/dev/shm", "/tmp", "/var/tmp"})  # noqa: S108 - names that are looked for, not files of ours
# Desktop sessions keep FUSE mounts there that no job uses and that root itself may not enter.
SESSIONS = "/run/user/"
MOST_NETWORK = 32
# A helper's start counts too: a late one that does not stand in the kernel gets a second chance.
DEADLINE_S, SECOND_S = 2.0, 5.0


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What statfs says; `free_bytes` are open to ordinary users, 0 inodes means no limit."""

    size_bytes: int
    free_bytes: int
    inodes: int = 0
    inodes_free: int = 0


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One file system at one of its mount points, `others` being the rest of them.

    `writable` is the mount's own flag; `state` are the options of the file system under it, where
    the kernel says that it stopped writing (`ro`, `emergency_ro`, `shutdown`). One of `room`,
    `error` (errno name) and `missing` is known.
    """

    point: str
    source: str
    fstype: str
    device: str
    network: bool
    writable: bool
    state: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    room: Room | None = None
    error: str | None = None
    missing: Missing | None = None


class Mounts(Observation, frozen=True, kw_only=True):
    """The judged mounts by mount point; `fstab` has the options that the node's table asks for."""

    mounts: tuple[Mount, ...]
    fstab: Mapping[str, tuple[str, ...]] = {}
    source: str = VIEWS[0]


async def collect(node: Node, wanted: Wanted) -> Mounts | Missing:
    """Read the tables, then ask each network mount on its own and all local ones together."""
    del wanted
    seen = await node.files(*VIEWS, "/etc/fstab", cap=1 << 20)
    if isinstance(seen, Missing):
        return seen
    view = next((path for path in VIEWS if seen.get(path)), None)
    if view is None:
        return Missing(what="Mounts", cause=Cause.GARBLED, detail=f"{VIEWS[1]} is empty")
    own = {mount.device for mount in parse(seen.get(VIEWS[1]) or "")}
    mounts = await _ask(node, judged(parse(seen.get(view) or "")), own)
    return Mounts(mounts=mounts, fstab=fstab(seen.get("/etc/fstab") or ""), source=view)


def parse(text: str) -> tuple[Mount, ...]:
    """Return the mounts of a mountinfo text; of those on one point the last, which covers them."""
    found: dict[str, Mount] = {}
    # Not splitlines(): a path may hold what Unicode takes for the end of a line.
    for line in text.split("\n"):
        if (hit := LINE.fullmatch(line)) is None:
            continue
        point = unescape(hit["point"])
        found.pop(point, None)
        found[point] = Mount(
            point=point,
            source=unescape(hit["source"]),
            fstype=hit["fstype"],
            device=hit["device"],
            network=hit["fstype"] in NETWORK or hit["fstype"].startswith("fuse."),
            writable="rw" in hit["options"].split(","),
            state=tuple(hit["state"].split(",")),
        )
    return tuple(found.values())


def unescape(text: str) -> str:
    r"""Return a path with the kernel's `\040` for a space, `\011`, `\012` and `\134` undone."""
    return OCTAL.sub(lambda hit: chr(int(hit[1], 8) & 0xFF), text)


def judged(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return what a job can use: each file system once, at its shortest writable point."""
    groups: dict[str, list[Mount]] = {}
    for mount in sorted(mounts, key=lambda m: (not m.writable, len(m.point), m.point)):
        if _usable(mount):
            groups.setdefault(mount.device, []).append(mount)
    return tuple(
        msgspec.structs.replace(group[0], others=tuple(m.point for m in group[1:]))
        for group in sorted(groups.values(), key=lambda group: group[0].point)
    )


def _usable(mount: Mount) -> bool:
    if mount.fstype in ("tmpfs", "overlay", "rootfs"):
        return mount.point in MEMORY_POINTS
    return mount.fstype in LOCAL or (mount.network and not mount.point.startswith(SESSIONS))


def fstab(text: str) -> dict[str, tuple[str, ...]]:
    """Return the options by mount point; a swap or a comment has none."""
    lines = (FSTAB.match(line.strip()) for line in text.splitlines())
    return {unescape(hit["point"]): tuple(hit["options"].split(",")) for hit in lines if hit}


async def _ask(node: Node, mounts: tuple[Mount, ...], own: set[str]) -> tuple[Mount, ...]:
    """Ask all at once; one dead server costs one helper and its deadline."""
    local = [mount for mount in mounts if not mount.network]
    network = [mount for mount in mounts if mount.network]
    single = [partial(_one, mount) for mount in network[:MOST_NETWORK]]
    together, *rest = await at_once(node, [partial(_locals, local), *single])
    pairs = [*zip(local, together, strict=True), *zip(network, rest, strict=False)]
    pairs += [(mount, _held(mount)) for mount in network[MOST_NETWORK:]]
    known = [answered(mount, answer, own) for mount, answer in pairs]
    return tuple(sorted((m for m in known if m is not None), key=lambda m: m.point))


def _held(mount: Mount) -> Missing:
    detail = f"more than {MOST_NETWORK} network mounts; this one was not asked"
    return Missing(what=f"statfs {mount.point}", cause=Cause.HELD_BACK, detail=detail)


async def _locals(mounts: list[Mount], node: Node) -> list[Any]:
    """Ask all local ones in one helper; where that stalls, each in its own, to tell which."""
    if not mounts:
        return []
    points = [mount.point for mount in mounts]
    got = await node.ask("statfs_local", deadline_s=DEADLINE_S, points=points)
    if isinstance(got, Missing) and got.cause is Cause.TIMEOUT:
        return [await _one(mount, node) for mount in mounts]
    if isinstance(got, Missing) or len(got) != len(mounts):
        return [got] * len(mounts)
    return [await _as_root(mount, answer, node) for mount, answer in zip(mounts, got, strict=True)]


async def _one(mount: Mount, node: Node) -> Any:  # noqa: ANN401 - JSON
    got = await node.ask("statfs", deadline_s=DEADLINE_S, point=mount.point)
    if isinstance(got, Missing) and got.cause is Cause.TIMEOUT and "state D" not in str(got.stuck):
        got = await node.ask("statfs", deadline_s=SECOND_S, point=mount.point)
    return await _as_root(mount, got, node)


async def _as_root(mount: Mount, answer: Any, node: Node) -> Any:  # noqa: ANN401 - JSON
    """Ask again with root's eyes where the way to the mount is closed to us."""
    if isinstance(answer, Missing) or answer.get("errno") != "EACCES":
        return answer
    return await node.ask("statfs_root", deadline_s=DEADLINE_S, point=mount.point)


def answered(mount: Mount, answer: Any, own: set[str]) -> Mount | None:  # noqa: ANN401 - JSON
    """Return the mount with its answer; None where another covers it, so that nobody uses it."""
    what = f"statfs {mount.point}"
    if isinstance(answer, Missing):
        missing = msgspec.structs.replace(answer, what=what)
        return msgspec.structs.replace(mount, missing=missing)
    if not isinstance(answer, dict):
        garbled = Missing(what=what, cause=Cause.GARBLED, detail="the helper's answer has no shape")
        return msgspec.structs.replace(mount, missing=garbled)
    error = answer.get("errno")
    numbered = error is None and mount.fstype in NUMBERED
    other = numbered and answer["device"] != mount.device
    if other or error == "ENOENT":
        return None if mount.device in own else _hidden(mount)
    if error is not None:
        return msgspec.structs.replace(mount, error=str(error))
    return msgspec.structs.replace(mount, room=msgspec.convert(answer, Room))


def _hidden(mount: Mount) -> Mount:
    detail = "this process's own view of the file systems lacks it (a service's sandbox)"
    missing = Missing(what=f"statfs {mount.point}", cause=Cause.DENIED, detail=detail)
    return msgspec.structs.replace(mount, missing=missing)
