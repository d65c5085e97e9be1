"""The verbs about what a job writes: its standard output and error, where they are files.

A file is opened through the process that holds it, as its user, and looked at before anything
could be done to it: a pipe, a socket or a terminal is never opened, not even for a moment.
"""

import errno
import os
import re
import stat
import time
from collections.abc import Callable
from typing import Any

from collectors.helpers.children import as_user, processes
from collectors.helpers.children.loop import Refused

STREAMS = (1, 2)
TAIL = 1 << 20
MOST_PIDS = 512
WRITING = os.O_WRONLY | os.O_RDWR
# 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue      (proc(5))
MOUNT = re.compile(r"^\d+ \d+ (\d+):(\d+) .* - (\S+) ", re.MULTILINE)
MOUNTS_CAP = 4 << 20


def job_logs(pids: list[int]) -> list[dict[str, Any]]:
    """Return the regular files that these processes write as standard output or error.

    Each comes once, with the first of *pids* that writes it; `time` is when it last grew.
    """
    kinds = _kinds()
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for pid in processes.checked(pids):
        for stream in STREAMS:
            try:
                seen, path = _looked(pid, stream)
            except (OSError, Refused):
                continue
            found.setdefault(
                (seen.st_dev, seen.st_ino),
                {
                    "pid": pid,
                    "stream": stream,
                    "path": path,
                    "device": seen.st_dev,
                    "inode": seen.st_ino,
                    "size": seen.st_size,
                    "time": seen.st_mtime,
                    "kind": kinds.get(seen.st_dev, ""),
                },
            )
    return list(found.values())


def _kinds() -> dict[int, str]:
    """Return the kind of file system by device: `nfs4`, `lustre`, `ext4`."""
    try:
        text = processes.read("/proc/self/mountinfo", MOUNTS_CAP)
    except OSError:
        return {}
    return {os.makedev(int(hit[1]), int(hit[2])): hit[3] for hit in MOUNT.finditer(text)}


def _looked(pid: int, stream: int) -> tuple[os.stat_result, str]:
    """Return what a stream is and how it is called; raises Refused where it is no log of a job."""
    handle, path = _handle(pid, stream)
    try:
        return os.fstat(handle), path
    finally:
        os.close(handle)


def _handle(pid: int, stream: int) -> tuple[int, str]:
    """Return a handle that only says what the stream is; it opens nothing (O_PATH)."""
    folder = f"/proc/{pid}"
    ours, theirs = os.stat("/"), os.stat(f"{folder}/root")
    if (ours.st_dev, ours.st_ino) != (theirs.st_dev, theirs.st_ino):
        raise Refused("denied", "the process has another root")
    flags = processes.FLAGS.search(processes.read(f"{folder}/fdinfo/{stream}"))
    if flags is None or not int(flags[1], 8) & WRITING:
        raise Refused("denied", "the process does not write it")
    name = processes.link(f"{folder}/fd/{stream}")
    handle = os.open(f"{folder}/fd/{stream}", os.O_PATH | os.O_CLOEXEC)
    if name.startswith("/") and stat.S_ISREG(os.fstat(handle).st_mode):
        return handle, name[: processes.PATH_CAP]
    os.close(handle)
    raise Refused("denied", "it is no regular file")


def job_log(pid: int, stream: int, device: int, inode: int, start: int) -> dict[str, Any]:
    """Return up to 1 MiB of a log from byte *start* on, or its last MiB where *start* is below 0.

    `text` begins after a line end unless *start* was given; `next` is where to go on.
    """
    processes.checked([pid])
    if stream not in STREAMS:
        raise Refused("garbled", "a stream is 1 or 2")
    with as_user.rights_of(as_user.of(pid)):
        there, path = _handle(pid, stream)
        try:
            seen = os.fstat(there)
            if (seen.st_dev, seen.st_ino) != (device, inode):
                raise Refused("stale", f"{path} is another file by now")
            handle = _opened(there)
        finally:
            os.close(there)
    try:
        return part(handle, path, start)
    finally:
        os.close(handle)


def _opened(there: int) -> int:
    """Open what the handle stands for: the very file that was looked at."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        return os.open(f"/proc/self/fd/{there}", flags | os.O_NOATIME)
    except PermissionError:
        # O_NOATIME is for owners; a job may write a file that was made for it by another.
        return os.open(f"/proc/self/fd/{there}", flags)


def part(
    handle: int, path: str, start: int, told: Callable[[bytes], bytes] = bytes
) -> dict[str, Any]:
    """Return a part of an open log, `text` as *told* makes it of what stands there."""
    size = os.fstat(handle).st_size
    given = 0 <= start <= size
    begin = start if given else max(size - TAIL, 0)
    data = os.pread(handle, TAIL, begin)
    after = begin + len(data)
    if begin and not given:
        head, _, data = data.partition(b"\n")
        begin += len(head) + 1
    return {
        "path": path,
        "text": told(data).decode("utf-8", "backslashreplace"),
        "start": begin,
        "next": after,
        "size": size,
    }


# PyTorch 2.1 to 2.13: ProcessGroupNCCL's DebugInfoWriter; the rank is put behind the name.
NAMED = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
IN_HOME = (".cache/torch/comm_lib_trace_rank_", ".cache/torch/nccl_trace_rank_")
IN_TMP = ("/tmp/comm_lib_trace_rank_", "/tmp/nccl_trace_rank_")  # noqa: S108 - PyTorch's own default
DUMP_CAP = 32 << 20


def dumps(pids: list[int]) -> dict[str, dict[str, Any]]:
    """Return, for each rank, what its flight recorder wrote since it was started."""
    found: dict[str, dict[str, Any]] = {}
    environs = processes.environ(pids)
    for name, environ in environs.items():
        rank = environ.get("RANK", "")
        if not (rank.isascii() and rank.isdecimal() and len(rank) <= 7):  # noqa: PLR2004 - ranks have fewer digits
            continue
        try:
            user = as_user.of(int(name))
            began = _began(name)
            data = _dump([f"{prefix}{rank}" for prefix in _prefixes(environ, user)], user, began)
        except (OSError, Refused):
            continue
        if data is not None:
            found[name] = _summed(*data)
    return found


def _began(pid: str) -> float:
    """Return when a process was started, seconds since the epoch."""
    ticks = int(processes.read(f"/proc/{pid}/stat").rpartition(")")[2].split()[19])
    uptime = float(processes.read("/proc/uptime").split()[0])
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def _prefixes(environ: dict[str, str], user: as_user.User) -> list[str]:
    named = [environ[name] for name in NAMED if environ.get(name, "").startswith("/")]
    home = user.home
    return named or [*(f"{home}/{place}" for place in IN_HOME if home), *IN_TMP]


def _dump(paths: list[str], user: as_user.User, began: float) -> tuple[str, bytes] | None:
    """Return the first that is a regular file of the job's user and newer than the process."""
    for path in paths:
        with as_user.rights_of(user):
            try:
                handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError as problem:
                if problem.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO):
                    raise
                continue
        try:
            seen = os.fstat(handle)
            mine = stat.S_ISREG(seen.st_mode) and seen.st_uid == user.uid
            if mine and seen.st_mtime >= began - 1:
                return path, os.pread(handle, DUMP_CAP + 1, 0)
        finally:
            os.close(handle)
    return None


def _summed(path: str, data: bytes) -> dict[str, Any]:
    from collectors.helpers.children import flight_recorder  # noqa: PLC0415 - wanted where a dump is

    try:
        return {"path": path, **flight_recorder.summary(data)}
    except Refused as no:
        return {"path": path, "refused": no.detail}
