"""The verb `device_nodes`: whether the driver's control node opens, and who may open the others."""

import errno
import os
import re
from typing import Any

DEV = "/dev"
CONTROL = "nvidiactl"
NODES = re.compile(r"nvidia(ctl|\d{1,3}|-uvm|-uvm-tools|-modeset)")


def device_nodes() -> dict[str, Any]:
    """Return errno of opening /dev/nvidiactl (None: it opens), our user, and each node's rights.

    No other node is opened: an open of /dev/nvidia0 can initialise the GPU, which takes seconds.
    """
    nodes: dict[str, dict[str, int]] = {}
    with os.scandir(DEV) as entries:
        names = sorted(entry.name for entry in entries if NODES.fullmatch(entry.name))
    for name in names:
        seen = os.lstat(f"{DEV}/{name}")
        nodes[f"/dev/{name}"] = {
            "mode": seen.st_mode & 0o7777,
            "uid": seen.st_uid,
            "gid": seen.st_gid,
        }
    return {"error": _opened(f"{DEV}/{CONTROL}"), "user": os.geteuid(), "nodes": nodes}


def _opened(path: str) -> str | None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as problem:
        return errno.errorcode.get(problem.errno or 0, "EIO")
    return None
