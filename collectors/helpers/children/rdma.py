"""The verb `rdma_nodes`: the files below /dev/infiniband by which programs open a card."""

import os
import stat
from typing import Any

FOLDER = "/dev/infiniband"
MOST = 512


def rdma_nodes() -> list[dict[str, Any]]:
    """Return each character device's name, mode bits and number (`231:192`); none of it is opened.

    A device that is not there is an empty list, not an error.
    """
    try:
        names = sorted(os.listdir(FOLDER))[:MOST]
    except FileNotFoundError:
        return []
    nodes = []
    for name in names:
        seen = os.lstat(f"{FOLDER}/{name}")
        if stat.S_ISCHR(seen.st_mode):
            number = f"{os.major(seen.st_rdev)}:{os.minor(seen.st_rdev)}"
            nodes.append({"name": name, "mode": stat.S_IMODE(seen.st_mode), "number": number})
    return nodes
