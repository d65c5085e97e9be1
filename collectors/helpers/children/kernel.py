"""The verb `kernel_log`: /dev/kmsg from its oldest record to its newest, else another copy of it.

A container may lack /dev/kmsg, and a hardened unit the right to it; then the journal is asked for
this boot's kernel messages, and last the kernel by syslog(2), as dmesg does. All of them are
handed on in the form of /dev/kmsg.
"""

import ctypes
import json
import os
import re
import select
import subprocess  # noqa: TID251 - this is the helper: its parent holds the deadline, and no loop is stopped
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO, cast

from collectors.helpers.children.loop import Refused

KMSG = "/dev/kmsg"
RECORD_CAP = 8192
MOST_RECORDS = 20_000
MOST_BYTES = 8 << 20

JOURNALCTL = ("/usr/bin/journalctl", "/bin/journalctl")
FIELDS = "MESSAGE,PRIORITY,SYSLOG_FACILITY,_SOURCE_MONOTONIC_TIMESTAMP"
JOURNAL_BYTES = 16 << 20
JOURNAL_S = 4.0
BOOT_ID = "/proc/sys/kernel/random/boot_id"

MOST_WAIT_S = 60

# Actions of syslog(2).
READ_ALL, SIZE_BUFFER = 3, 10
# <6>[    2.608284] text, and <4>[   12.000101][ T2214] text where printk.caller is on.
LINE = re.compile(
    r"<(\d{1,6})>(?:\[ {0,12}(\d{1,12})\.(\d{6})\](?:\[ {0,8}[TC]\d{1,10}\])? ?)?(.*)"
)


# Where the last answer ended, by the number that it ended with: who asks for what came after it is
# read on to from there, and the log is not read whole again.
_devices: dict[int, int] = {}
_cursors: dict[int, str] = {}
# s=0af3...;i=51b;b=9c1e...;m=4c1f2a;t=63f1...;x=8d12...      (sd_journal_get_cursor(3): opaque)
CURSOR = re.compile(r"[0-9A-Za-z=;_-]{1,400}")


def kernel_log(after: int = -1, most: int = MOST_RECORDS, wait_s: int = 0) -> dict[str, Any]:
    """Return the last records as `lines`, their `source`, and how many are `lost` in between.

    Only records of a higher number than *after* are returned, and the first of them can show that
    others are lost. With fewer than all as the *most*, it is the oldest that /dev/kmsg has: asked
    again from there, it goes on. A reader takes nothing away from others, and nothing is cleared.

    With *wait_s* the answer is given when there is a record, and at the latest after so long. Only
    the device tells by itself that there is one: of the other sources the answer comes at once.
    """
    most = min(max(most, 1), MOST_RECORDS)
    refusals: list[Refused] = []
    device = partial(kmsg, wait_s=min(max(wait_s, 0), MOST_WAIT_S))
    readers: tuple[Callable[[int, int], dict[str, Any]], ...] = (device, journal, ring_by_syslog)
    for read in readers:
        try:
            return read(after, most)
        except Refused as no:
            refusals.append(no)
    raise refusals[0]


def kmsg(after: int, most: int = MOST_RECORDS, wait_s: float = 0.0) -> dict[str, Any]:
    """Return what /dev/kmsg holds, once it holds something."""
    handle = _devices.pop(after, None)
    for other in _devices.values():
        os.close(other)
    _devices.clear()
    if handle is None:
        handle = _opened()
    try:
        answer = tail(handle, after, most)
        if wait_s and not answer["lines"] and _says(handle, wait_s):
            answer = tail(handle, after, most)
    except OSError:
        os.close(handle)
        raise
    _devices[answer["last"]] = handle
    return answer


def _says(handle: int, wait_s: float) -> bool:
    """Wait until there is a record to read."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(wait_s * 1000))


def _opened() -> int:
    try:
        return os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Refused("denied", f"{KMSG} is not shown to this container") from None
    except PermissionError as no:
        raise Refused("denied", f"{KMSG}: {no.strerror}") from None


def tail(handle: int, after: int = -1, most: int = MOST_RECORDS) -> dict[str, Any]:
    """Read one record at a time until there is none, or *most* are there; `last` is a number.

    Where all are wanted the newest are kept. Those that were to follow on *after* and find no room
    are lost.
    """
    kept: deque[bytes] = deque()
    size = lost = 0
    last = after
    while len(kept) < most or most == MOST_RECORDS:
        try:
            record = os.read(handle, RECORD_CAP)
        except BlockingIOError:
            break
        except BrokenPipeError:
            # EPIPE: the next record was overwritten before we came; its number tells how many were.
            continue
        if not record:
            break
        number = _number(record)
        if number is not None and number <= after:
            continue
        if number is not None:
            lost += max(number - last - 1, 0) if last >= 0 else 0
            last = number
        kept.append(record)
        size += len(record)
        while len(kept) > MOST_RECORDS or size > MOST_BYTES:
            size -= len(kept.popleft())
            lost += after >= 0
    text = b"".join(kept).decode("ascii", "backslashreplace")
    lines = list(filter(None, text.split("\n")))
    return {"lines": lines, "lost": lost, "source": "kmsg", "last": last}


def _number(record: bytes) -> int | None:
    parts = record[:64].split(b",", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else None  # noqa: PLR2004 - level, number, rest


def journal(after: int, most: int = MOST_RECORDS) -> dict[str, Any]:
    """Return what the journal holds of this boot's kernel: the newest, also where most are less."""
    del most
    cursor = _cursors.pop(after, None)
    since = () if cursor is None else (f"--after-cursor={cursor}",)
    text = journalctl(FIELDS, "--dmesg", f"--boot={boot_id()}", f"--lines={MOST_RECORDS}", *since)
    # What follows on a cursor is new, whatever its clock says.
    lines = list(numbered(entries(text), after, after if cursor else -1))
    if not lines and after < 0:
        raise Refused("denied", "the journal holds no kernel message of this boot")
    last = _number(lines[-1].encode()) if lines else after
    _cursors.clear()
    if last is not None and (found := (_cursor(text) if lines else cursor)):
        _cursors[last] = found
    return {"lines": lines, "lost": 0, "source": "journald", "last": last}


def _cursor(text: bytes) -> str | None:
    """Return the cursor of the last entry."""
    try:
        cursor = json.loads(text.rstrip(b"\n").rpartition(b"\n")[2])["__CURSOR"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return cursor if isinstance(cursor, str) and CURSOR.fullmatch(cursor) else None


def boot_id() -> str:
    """Return the id of this boot as the journal writes it; `--boot` alone can mean an older one."""
    with open(BOOT_ID, encoding="ascii") as file:
        return file.read(64).strip().replace("-", "")


def journalctl(fields: str, *options: str) -> bytes:
    """Return what journalctl prints as JSON, up to a cap; all words are this program's own."""
    tool = next((path for path in JOURNALCTL if os.access(path, os.X_OK)), None)
    if tool is None:
        raise Refused("no_tool", "journalctl is not installed")
    argv = (tool, "--output=json", f"--output-fields={fields}", "--no-pager", "--quiet", *options)
    environment = {"PATH": os.defpath, "LC_ALL": "C"}
    process = subprocess.Popen(  # noqa: S603 - fixed program, and words that no caller chooses
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        return _read(process, time.monotonic() + JOURNAL_S)
    finally:
        process.kill()
        process.wait()


def _read(process: "subprocess.Popen[bytes]", deadline: float) -> bytes:
    """Return what the program prints until it ends, at most JOURNAL_BYTES."""
    pipe = cast("BinaryIO", process.stdout)
    pieces: list[bytes] = []
    left = JOURNAL_BYTES
    with pipe:
        while left > 0:
            ready, _, _ = select.select([pipe], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise Refused("timeout", f"journalctl did not end in {JOURNAL_S:g} s")
            if not (piece := os.read(pipe.fileno(), min(left, 1 << 20))):
                break
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces)


def entries(text: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield priority (with facility), microseconds since boot, and text of each journal entry."""
    for line in text.split(b"\n"):
        try:
            entry = json.loads(line)
            level, facility = int(entry["PRIORITY"]), int(entry["SYSLOG_FACILITY"])
            us = int(entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry["__MONOTONIC_TIMESTAMP"])
            # journald prints a message that is not plain text as a list of its bytes.
            said = entry["MESSAGE"]
            plain = said if isinstance(said, str) else bytes(said).decode("utf-8", "replace")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if facility >= 0 and us >= 0:
            yield (facility << 3) | (level & 7), us, plain


def ring_by_syslog(after: int, most: int = MOST_RECORDS) -> dict[str, Any]:
    """Return what syslog(2) gives, which asks for CAP_SYSLOG and no device; always all of it."""
    del most
    libc = ctypes.CDLL(None, use_errno=True)
    size = libc.klogctl(SIZE_BUFFER, None, 0)
    buffer = ctypes.create_string_buffer(min(max(size, 0), MOST_BYTES))
    got = libc.klogctl(READ_ALL, buffer, len(buffer)) if size > 0 else size
    if got < 0:
        raise Refused("denied", f"syslog(2): {os.strerror(ctypes.get_errno())}")
    lines = list(numbered(printed(buffer.raw[:got].decode("utf-8", "replace")), after))
    last = _number(lines[-1].encode()) if lines else after
    return {"lines": lines, "lost": 0, "source": "syslog", "last": last}


def printed(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield priority, microseconds and text of lines that the kernel printed with their prefix."""
    for line in text.split("\n"):
        if hit := LINE.fullmatch(line):
            yield int(hit[1]), int(hit[2] or 0) * 1_000_000 + int(hit[3] or 0), hit[4]


def numbered(records: Iterable[tuple[int, int, str]], after: int, last: int = -1) -> Iterator[str]:
    """Yield lines of /dev/kmsg's form, numbered by their time: these sources have no number.

    Numbers grow from *last*, and those up to *after* are left out.
    """
    for priority, us, text in records:
        last = max(us, last + 1)
        if last > after:
            yield f"{priority},{last},{us},-;{escaped(text)}"


def escaped(text: str) -> str:
    r"""Write what is not printable ASCII as the kernel does, the backslash among it: `\x5c`."""
    raw = text.encode("utf-8", "replace")[:RECORD_CAP]
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02x}"  # noqa: PLR2004 - printable ASCII, no backslash
        for byte in raw
    )
