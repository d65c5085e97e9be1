"""The verbs about what pods of this node print: the files that the kubelet has the runtime write.

/var/log/pods/NAMESPACE_NAME_UID/CONTAINER/0.log
2026-11-30T02:11:09.120551432Z stdout F step: 812 loss: 2.104
2026-11-30T02:11:09.130551432Z stderr P the beginning of a long line, and
"""

import glob
import os
import re
import stat
from typing import Any

from collectors.helpers.children import job_logs
from collectors.helpers.children.loop import Refused

FOLDER = "/var/log/pods"
MOST_PODS = 64
POD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
LINE = re.compile(rb"^\S+ (?:stdout|stderr) ([FP])(?::\S*)? ?(.*\n?)", re.MULTILINE)


def pod_logs(pods: list[str]) -> list[dict[str, Any]]:
    """Return the newest log of each container of these pods."""
    if len(pods) > MOST_PODS or not all(POD.fullmatch(pod) for pod in pods):
        raise Refused("garbled", f"pods are at most {MOST_PODS} ids")
    found = []
    for pod in pods:
        for folder in sorted(glob.glob(f"{FOLDER}/*_{pod}/*/")):
            seen = [(entry, path) for path in glob.glob(f"{folder}*.log") if (entry := _seen(path))]
            if seen:
                newest, path = max(seen, key=lambda one: one[0].st_mtime)
                found.append(_entry(pod, path, newest))
    return found


def _seen(path: str) -> os.stat_result | None:
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen if stat.S_ISREG(seen.st_mode) else None


def _entry(pod: str, path: str, seen: os.stat_result) -> dict[str, Any]:
    return {
        "pod": pod,
        "path": path[:1024],
        "device": seen.st_dev,
        "inode": seen.st_ino,
        "size": seen.st_size,
        "time": seen.st_mtime,
    }


def pod_log(pod: str, device: int, inode: int, start: int) -> dict[str, Any]:
    """Return up to 1 MiB of a container's log as `job_log` does, without what the runtime adds."""
    mine = [e for e in pod_logs([pod]) if (e["device"], e["inode"]) == (device, inode)]
    if not mine:
        raise Refused("stale", f"pod {pod} writes another file by now")
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(mine[0]["path"], flags)
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or (seen.st_dev, seen.st_ino) != (device, inode):
            raise Refused("stale", f"pod {pod} writes another file by now")
        return job_logs.part(handle, mine[0]["path"], start, printed)
    finally:
        os.close(handle)


def printed(data: bytes) -> bytes:
    """Return what a program printed: a line in parts is one again."""
    return b"".join(text.rstrip(b"\n") if tag == b"P" else text for tag, text in LINE.findall(data))
