r"""What stands in front of a line: its time, and by whose hand it is.

Forms, each with a line of the true shape:

    4,1042,5123456,-;NVRM: ...                                   /dev/kmsg: facility and level, us
    kern  :warn  : 2026-11-30T02:11:09,283302+00:00 NVRM: ...    dmesg -x --time-format iso
    <4>[   12.345678] NVRM: ...                                  dmesg -r
    [12345.678901][  T812] NVRM: ...                             dmesg, with the caller
    [Mon Nov 30 02:11:09 2026] NVRM: ...                         dmesg -T; names of days are local
    [  +0.000844] NVRM: ...                                      dmesg -d, dmesg -H
    Nov 30 02:11:09 gpu-017 kernel: [12345.678901] NVRM: ...     syslog, journalctl
    2026-11-30T02:11:09.120331+08:00 gpu-017 kernel: NVRM: ...   syslog, journalctl -o short-iso
    [2026-11-30 02:11:09,120] [INFO] [Rank 3] ...                a training log
"""

import re
from typing import Literal

Hand = Literal["kernel", "program", "unknown"]

# Ten digits would be 32 years: UCX stamps its lines so, with the wall clock.
SINCE = rb"\[[ ]{0,7}\d{1,9}\.\d{6}\](?:\[[ ]{0,6}[TC]\d{1,7}\])?"
STAMP = re.compile(
    rb"[ ]?(?:(?P<kmsg>\d{1,5},\d{1,18},\d{1,18},[^;\n]{0,200};)"
    rb"|(?P<level><\d{1,5}>|[a-z]{2,8}[ ]{0,6}:[a-z]{2,7}[ ]{0,6}:[ ])?"
    rb"(?:(?P<iso>\[?(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    rb"(?:[ ]?(?:Z|UTC|[+-]\d\d:?\d\d))?\]?)"
    rb"|(?P<bsd>[A-Z][a-z]{2}[ ]{1,2}\d{1,2}[ ]\d\d:\d\d:\d\d(?:\.\d{1,6})?)"
    rb"|(?P<since>" + SINCE + rb")"
    rb"|(?P<local>\[[^\d\]\n]{2,24}[^\]\n]{0,12}?\d{1,2}[ ]\d\d:\d\d:\d\d[ ]\d{4}\])"
    rb"|(?P<delta>\[[ ]{0,4}(?:\+[ ]{0,6}\d{1,8}\.\d{6}|<[ ]{0,6}\d{1,8}\.\d{6}>"
    rb"|[A-Z][a-z]{2}[ ]?\d{1,2}[ ]\d\d:\d\d)\]))?"
    rb"(?P<tag>[ ]?[\w.:-]{1,64}[ ]kernel:[ ](?:" + SINCE + rb")?)?)[ ]?"
)
# Xid errors on gpu-017: Nov 30 02:11:09 gpu-017 kernel: [12345.678901] NVRM: Xid ...
INSIDE = re.compile(rb".{0,200}?[ ]kernel:[ ]" + SINCE + rb"[ ]")
# 2026-11-30T02:11:09,283302+00:00: dmesg has six digits and a comma, loggers have three.
DMESG_ISO = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]")


def stamp(data: bytes, start: int, end: int) -> re.Match[bytes] | None:
    """Return what stands in front of the line at *start*; None where it is nothing known."""
    found = STAMP.match(data, start, end)
    # Every part can be absent, and then it says nothing.
    return found if found and found.lastgroup else None


def hand(found: re.Match[bytes] | None) -> Hand:
    """Return whose line it is by its stamp; facility 0 is the kernel's own."""
    if found is None:
        return "unknown"
    if found["kmsg"]:
        return "kernel" if int(found["kmsg"].partition(b",")[0]) < 8 else "program"  # noqa: PLR2004 - eight levels of facility 0
    level: bytes = found["level"] or b""
    if level.startswith(b"<"):
        return "kernel" if int(level[1:-1]) < 8 else "program"  # noqa: PLR2004 - as above
    if level:
        return "kernel" if level.startswith(b"kern ") else "program"
    if found["tag"] or found.lastgroup in ("since", "local", "delta"):
        return "kernel"
    iso = found["iso"]
    return "kernel" if iso and DMESG_ISO.match(iso) else "unknown"
