"""The verbs about the boot before: what panics left behind, and how the journal and wtmp end."""

import json
import os
import stat
import struct
from typing import Any

from collectors.helpers.children import kernel, rooted
from collectors.helpers.children.loop import Refused

# Where firmware, systemd-pstore and kdump (RHEL, then Debian and Ubuntu) leave a panic's text.
PLACES = (
    "/sys/fs/pstore/*",
    "/var/lib/systemd/pstore/*",
    "/var/lib/systemd/pstore/*/*",
    "/var/lib/systemd/pstore/*/*/*",
    "/var/crash/*/vmcore-dmesg*.txt",
    "/var/crash/*/dmesg.*",
)
MOST_FILES = 64
TAIL = 64 << 10
MOST_BYTES = 1 << 20

LAST_LINES = 200
KERNEL_LINES = 20
LINE_CAP = 500
FIELDS = "MESSAGE,_TRANSPORT,_COMM,_UID"
# Who says that the machine is taken down, and in which words:
# System is rebooting.   System is powering down.          (systemd-logind)
# Shutting down.   Reached target Reboot.   Reached target System Reboot.   (systemd)
# Journal stopped                                          (systemd-journald, its very last)
# Syncing filesystems and block devices.                   (systemd-shutdown)
SPEAKERS = frozenset({"systemd", "systemd-logind", "systemd-journal", "systemd-shutdow", "kernel"})
ENDINGS = (
    "System is rebooting",
    "System is powering down",
    "System is halting",
    "Shutting down.",
    "Reached target Reboot",
    "Reached target Power",
    "Reached target System Reboot",
    "Reached target System Power Off",
    "Reached target Shutdown",
    "Reached target shutdown.target",
    "Reached target reboot.target",
    "Reached target poweroff.target",
    "Reached target halt.target",
    "Reached target kexec.target",
    "Journal stopped",
    "Syncing filesystems and block devices",
    "reboot: Restarting system",
    "reboot: Power down",
)

WTMP = "/var/log/wtmp"
# struct utmp of glibc: type, pid, line, id, user, host, exit (2), session, seconds, microseconds,
# address, reserve. The three numbers have 32 bits on x86-64 and 64 on ARM.
HEAD, REST = "<hxxi32s4s32s256shh", "16s20s"
UTMP = struct.Struct(
    f"{HEAD}qqq{REST}4x" if os.uname().machine == "aarch64" else f"{HEAD}iii{REST}"
)
RUN_LEVEL, BOOT_TIME = 1, 2
MOST_WTMP = 4096 * UTMP.size
MOST_BOOTS = 16


def pstore(root: str = "/") -> dict[str, Any]:
    """Return the files in which a panic leaves its text: path, time of writing, end of the text."""
    found: list[dict[str, Any]] = []
    left = MOST_BYTES
    for pattern in PLACES:
        # The names count up with time: the newest first.
        for path in reversed(list(rooted.expand(root, pattern))):
            if len(found) >= MOST_FILES or left <= 0:
                break
            if (entry := _end(root, path, min(TAIL, left))) is not None:
                left -= len(entry["text"])
                found.append({"path": path, **entry})
    return {"files": found}


def _end(root: str, path: str, cap: int) -> dict[str, Any] | None:
    """Return the last part of a plain file of root's; None of anything else.

    Every user may write below /var/crash on some systems: a link there would lend root's eyes, and
    a file would be a panic that never was.
    """
    folder, _, name = path.rpartition("/")
    try:
        place = f"{rooted.resolve(root, folder)}/{name}"
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_uid not in (0, os.geteuid()):
            return None
        text = os.pread(handle, cap, max(seen.st_size - cap, 0))
    except OSError:
        return None
    finally:
        os.close(handle)
    return {"mtime": seen.st_mtime, "text": text.decode("utf-8", "backslashreplace")}


def boot_before() -> dict[str, Any]:
    """Return how the boot before this one ended, as far as the journal and wtmp say.

    Of the journal's text only what names a shutdown is returned, and the kernel's last lines.
    """
    return {"journal": _journal(), "wtmp": _wtmp()}


def _journal() -> dict[str, Any] | None:
    try:
        before = f"--boot={kernel.boot_id()}-1"
        text = kernel.journalctl(FIELDS, before, f"--lines={LAST_LINES}")
    except Refused as no:
        if no.cause == "timeout":
            raise
        return None
    entries = [entry for line in text.split(b"\n") if (entry := _entry(line))]
    if not entries:
        return None
    kernels = [e["said"][:LINE_CAP] for e in entries if e["transport"] == "kernel"]
    endings = [e["said"][:LINE_CAP] for e in entries if _ends(e)]
    return {
        "boot_id": entries[-1]["boot_id"],
        "ended": entries[-1]["us"] / 1e6,
        "shutdown": endings[0] if endings else None,
        "kernel": kernels[-KERNEL_LINES:],
    }


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
        said = entry["MESSAGE"]
        return {
            "us": int(entry["__REALTIME_TIMESTAMP"]),
            "boot_id": str(entry["_BOOT_ID"]),
            "said": said if isinstance(said, str) else bytes(said).decode("utf-8", "replace"),
            "transport": entry.get("_TRANSPORT"),
            "comm": entry.get("_COMM"),
            "uid": entry.get("_UID"),
        }
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _ends(entry: dict[str, Any]) -> bool:
    """Return whether one of the machine's own services says that it is taken down."""
    by_kernel = entry["transport"] == "kernel"
    by_service = entry["comm"] in SPEAKERS and entry["uid"] == "0"
    journald = entry["transport"] == "driver"
    return (by_kernel or by_service or journald) and str(entry["said"]).startswith(ENDINGS)


def _wtmp() -> list[dict[str, Any]] | None:
    """Return the last boots and shutdowns of wtmp, oldest first; None where there is no wtmp."""
    try:
        with open(WTMP, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - size % UTMP.size - MOST_WTMP, 0))
            raw = file.read(MOST_WTMP)
    except OSError:
        return None
    whole = raw[: len(raw) - len(raw) % UTMP.size]
    return records(whole)[-MOST_BOOTS:]


def records(raw: bytes) -> list[dict[str, Any]]:
    """Return the boots and shutdowns in whole records of wtmp: what, and when (epoch seconds)."""
    found = []
    for kind, _, _, _, user, _, _, _, _, seconds, *_ in UTMP.iter_unpack(raw):
        name = user.split(b"\0")[0]
        if kind == BOOT_TIME and name == b"reboot":
            found.append({"what": "boot", "time": seconds})
        elif kind == RUN_LEVEL and name == b"shutdown":
            found.append({"what": "shutdown", "time": seconds})
    return found
