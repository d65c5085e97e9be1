"""The verb `clock`: what the kernel says of its own clock."""

import ctypes
import errno
import os
from typing import Any

from collectors.helpers.children.loop import Refused

STA_NANO = 0x2000


class Timex(ctypes.Structure):
    """`struct timex` of adjtimex(2), 64 bit; `offset` is in ns where status holds STA_NANO."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time", ctypes.c_long * 2),
        ("tick", ctypes.c_long),
        ("counters", ctypes.c_long * 8),
        ("tai", ctypes.c_int),
        ("reserved", ctypes.c_int * 11),
    )


def clock() -> dict[str, Any]:
    """Return state, status and errors of the kernel clock; nothing is set (modes is 0)."""
    timex = Timex()
    state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    if state < 0:
        number = ctypes.get_errno()
        cause = "denied" if number in (errno.EPERM, errno.ENOSYS) else "crashed"
        raise Refused(cause, f"adjtimex: {os.strerror(number)}")
    unit = 1e9 if timex.status & STA_NANO else 1e6
    return {
        "state": state,
        "status": timex.status,
        "offset_s": timex.offset / unit,
        "max_error_s": timex.maxerror / 1e6,
        "estimated_error_s": timex.esterror / 1e6,
    }
