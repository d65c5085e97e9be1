"""File systems that jobs use: they answer, can be written, and have room."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.host.mounts import Mount, Mounts, Room
from diagnostics.check import Limits, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

GIB = 2**30
SHM = "/dev/shm"  # noqa: S108 - judged by host.shm
# What stands among a file system's own options once the kernel has stopped its writes: `ro` under a
# writable mount, and for ext4 from Linux 6.15 on the other two.
STOPPED = ("emergency_ro", "shutdown", "ro")
# Read-only by nature, or by the layer that they show.
NEVER_WRITTEN = ("overlay", "rootfs", "tmpfs", "fuse.", "9p", "virtiofs")


class MountLimits(Limits, frozen=True, kw_only=True):
    """When a file system is full: share and amount must both be under the limit."""

    free_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="share of bytes that must stay free")
    ] = 2.0
    free_gib: Annotated[float, msgspec.Meta(ge=0, description="as much free is enough")] = 10.0
    inodes_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="share of inodes that must stay free")
    ] = 1.0
    inodes_free: Annotated[int, msgspec.Meta(ge=0, description="as many are enough")] = 100_000


@check(
    "storage.mounts",
    stage="processes",
    faults=(
        "storage_hang",
        "stale_file_handle",
        "storage_io_error",
        "read_only_filesystem",
        "disk_full",
    ),
    proved="real-tool",
)
def mounts(seen: Mounts, limits: MountLimits) -> Iterator[Statement]:
    """Every mount answers at once, is writable where it should be, and has room.

    A dead mount stops each rank that touches it, in a state that no signal ends; a read-only or
    full one makes the next checkpoint fail.
    """
    if not seen.mounts:
        yield NotApplicable(why="no mount that a job could use")
        return
    statements = [s for mount in seen.mounts for s in _judge(mount, seen, limits)]
    yield from statements
    answered = sum(mount.room is not None for mount in seen.mounts)
    if answered and not any(isinstance(s, Finding) for s in statements):
        network = sum(mount.network and mount.room is not None for mount in seen.mounts)
        yield Well(message=f"{answered} file systems answer, {network} of them over the network")


def _judge(mount: Mount, seen: Mounts, limits: MountLimits) -> Iterator[Statement]:
    if mount.missing is not None:
        yield _unanswered(mount, mount.missing)
    elif mount.error is not None:
        yield from _refused(mount, mount.error)
    if (reason := _read_only(mount, seen)) is not None:
        yield reason
    elif mount.room is not None and mount.writable and mount.point != SHM:
        yield from _full(mount, mount.room, limits)


def _subject(mount: Mount) -> Subject:
    return Subject(kind="mount", name=mount.point)


def _unanswered(mount: Mount, missing: Missing) -> Statement:
    if missing.cause is not Cause.TIMEOUT:
        return Unseen(missing=missing, subject=_subject(mount))
    where = f"; the call stands at {missing.stuck}" if missing.stuck else ""
    # A mount that a user made is that user's: no reason to take the node away.
    own = any(word.startswith("user_id=") and word != "user_id=0" for word in mount.state)
    return found(
        "storage_hang",
        "warning" if own else "critical",
        _subject(mount),
        "{point} ({fstype}, {source}) does not answer ({detail}{where})",
        Evidence(
            source=f"statfs {mount.point}", text=missing.detail, values={"stuck": missing.stuck}
        ),
        point=mount.point,
        fstype=mount.fstype,
        source=mount.source,
        detail=missing.detail,
        where=where,
    )


def _refused(mount: Mount, error: str) -> Iterator[Statement]:
    if error == "EACCES" and mount.fstype.startswith("fuse."):
        # A user's own FUSE mount is closed to everybody else, root too.
        return
    if error == "EACCES":
        detail = "the way to the mount is closed to this process"
        missing = Missing(what=f"statfs {mount.point}", cause=Cause.DENIED, detail=detail)
        yield Unseen(missing=missing, subject=_subject(mount))
        return
    stale = error == "ESTALE"
    # ENOTCONN: the program behind a FUSE mount has ended; the mount is left over.
    left_over = error == "ENOTCONN"
    yield found(
        "stale_file_handle" if stale else "storage_io_error",
        "warning" if stale or left_over else "critical",
        _subject(mount),
        "{point} ({fstype}, {source}) answers {error} to statfs",
        Evidence(source=f"statfs {mount.point}", text=error),
        variant="statfs",
        point=mount.point,
        fstype=mount.fstype,
        source=mount.source,
        error=error,
    )


def _read_only(mount: Mount, seen: Mounts) -> Finding | None:
    """Say where the kernel stopped the writes, or where only the table asks for them."""
    if mount.fstype.startswith(NEVER_WRITTEN) or (mount.network and mount.writable):
        return None
    mark = next((word for word in STOPPED if word in mount.state), None)
    if mount.writable and mark is not None:
        return _stopped(mount, mark, seen.source)
    asked = seen.fstab.get(mount.point)
    if mount.writable or asked is None or not {"ro", "noauto"}.isdisjoint(asked):
        return None
    return found(
        "read_only_filesystem",
        "warning",
        _subject(mount),
        "{point} ({fstype}) is mounted read-only, /etc/fstab asks for {asked}",
        Evidence(source=seen.source, values={"fstab": list(asked), "state": list(mount.state)}),
        variant="fstab",
        point=mount.point,
        fstype=mount.fstype,
        asked=",".join(asked),
    )


def _stopped(mount: Mount, mark: str, source: str) -> Finding:
    return found(
        "read_only_filesystem",
        "critical",
        _subject(mount),
        "the kernel stopped all writes to {point} ({fstype}, {source}): {mark} on a writable mount",
        Evidence(source=source, text=",".join(mount.state)),
        point=mount.point,
        fstype=mount.fstype,
        source=mount.source,
        mark=mark,
    )


def _full(mount: Mount, room: Room, limits: MountLimits) -> Iterator[Finding]:
    if not room.size_bytes or mount.fstype.startswith("fuse."):
        # FUSE file systems report what they like.
        return
    percent = round(100.0 * room.free_bytes / room.size_bytes, 1)
    free = room.free_bytes / GIB
    values = msgspec.to_builtins(room)
    if percent < limits.free_percent and free < limits.free_gib:
        yield found(
            "disk_full",
            "warning",
            _subject(mount),
            "{percent:g} % of {point} is free ({free} of {size} GiB)",
            Evidence(source=f"statfs {mount.point}", values=values),
            point=mount.point,
            percent=percent,
            free=f"{free:.2f}",
            size=f"{room.size_bytes / GIB:.2f}",
        )
    share = 100.0 * room.inodes_free / max(room.inodes, 1)
    if room.inodes and share < limits.inodes_percent and room.inodes_free < limits.inodes_free:
        yield found(
            "disk_full",
            "warning",
            _subject(mount),
            "{point} has {left} of {inodes} inodes left: no more files can be made",
            Evidence(source=f"statfs {mount.point}", values=values),
            variant="inodes",
            point=mount.point,
            left=room.inodes_free,
            inodes=room.inodes,
        )
