"""The verb `kernel_log`: the kernel's ring of records, read from its oldest to its newest."""

import os
from collections import deque
from typing import Any

from collectors.helpers.children.loop import Refused

KMSG = "/dev/kmsg"
RECORD_CAP = 8192
MOST_RECORDS = 20_000
MOST_BYTES = 8 << 20


def kernel_log() -> dict[str, Any]:
    """Return the last records as `lines`, and how often the ring overran us as `lost`.

    A reader of /dev/kmsg takes nothing away from others, and this one asks for no clearing.
    """
    try:
        handle = os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Refused("denied", f"{KMSG} is not shown to this container") from None
    with os.fdopen(handle, "rb", buffering=0):
        return tail(handle)


def tail(handle: int) -> dict[str, Any]:
    """Read one record at a time until there is none, keeping the newest."""
    kept: deque[bytes] = deque()
    size = lost = 0
    while True:
        try:
            record = os.read(handle, RECORD_CAP)
        except BlockingIOError:
            break
        except BrokenPipeError:
            # EPIPE: the next record was overwritten before we came; reading goes on after the gap.
            lost += 1
            continue
        if not record:
            break
        kept.append(record)
        size += len(record)
        while len(kept) > MOST_RECORDS or size > MOST_BYTES:
            size -= len(kept.popleft())
    text = b"".join(kept).decode("ascii", "backslashreplace")
    return {"lines": list(filter(None, text.split("\n"))), "lost": lost}
