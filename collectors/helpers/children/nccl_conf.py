"""The verb `nccl_conf`: what the files say that NCCL reads beside a rank's environment.

NCCL reads $NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf, and sets what is not set yet.
"""

import contextlib
import errno
import os
import pwd
import stat
from typing import Any

from collectors.helpers.children import as_user, processes
from collectors.helpers.children.loop import Refused

FILE_CAP = 65_536
PASSWD_CAP = 1 << 20
VALUE_CAP = processes.VALUE_CAP
# How a finding names the file: a path of a user's stays here.
SYSTEM, OWN, NAMED = "/etc/nccl.conf", "~/.nccl.conf", "$NCCL_CONF_FILE"
ABSENT = (errno.ENOENT, errno.ENOTDIR)


def nccl_conf(pids: list[int]) -> dict[str, dict[str, Any]]:
    """Return each rank's files in NCCL's order, and whether it sees this host's interfaces.

    A file that is not read says why under `refused`; one that is not there is left out, and so are
    processes that ended.
    """
    found = {}
    for pid in processes.checked(pids):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[str(pid)] = _of(pid)
    return found


def _of(pid: int) -> dict[str, Any]:
    user = as_user.of(pid)
    root = f"/proc/{pid}/root"
    named = _named_file(pid)
    places = [(NAMED, named)] if named else [(OWN, _in_home(root, user))]
    places.append((SYSTEM, "/etc/nccl.conf"))
    files = [_file(label, root, path, user) for label, path in places if path]
    return {
        "host_network": processes.link(f"/proc/{pid}/ns/net")
        == processes.link("/proc/self/ns/net"),
        "files": [one for one in files if one is not None],
    }


def _named_file(pid: int) -> str:
    text = processes.read(f"/proc/{pid}/environ", processes.ENVIRON_CAP)
    values = (e.partition("=")[2] for e in text.split("\0") if e.startswith("NCCL_CONF_FILE="))
    return next(values, "")


def _in_home(root: str, user: as_user.User) -> str | None:
    """Return the user's file by the names that the process sees; by ours where it has our root."""
    if os.path.samefile(root, "/"):
        try:
            return f"{pwd.getpwuid(user.uid).pw_dir}/.nccl.conf"
        except KeyError:
            return None
    try:
        text = processes.read(f"{root}/etc/passwd", PASSWD_CAP)
    except OSError:
        return None
    # trainer:x:1042:1042:,,,:/home/trainer:/bin/bash
    rows = (line.split(":") for line in text.splitlines())
    homes = (row[5] for row in rows if len(row) > 5 and row[2] == str(user.uid))  # noqa: PLR2004 - passwd(5)
    return f"{home}/.nccl.conf" if (home := next(homes, "")) else None


def _file(label: str, root: str, path: str, user: as_user.User) -> dict[str, Any] | None:
    if not path.startswith("/") or ".." in path.split("/"):
        return {"path": label, "refused": "its path is not absolute"}
    try:
        return {"path": label, "settings": settings(_text(f"{root}{path}", user))}
    except Refused as no:
        return {"path": label, "refused": no.detail}
    except OSError as no:
        absent = no.errno in ABSENT
        return None if absent else {"path": label, "refused": no.strerror or "unreadable"}


def _text(path: str, user: as_user.User) -> str:
    """Return the beginning of a regular file of root's or the user's, read with their rights."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
    with as_user.rights_of(user):
        handle = os.open(path, flags)
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            raise Refused("denied", "it is no regular file")
        if seen.st_uid not in (0, user.uid):
            raise Refused("denied", "it belongs to another user")
        return os.pread(handle, FILE_CAP, 0).decode("utf-8", "backslashreplace")
    finally:
        os.close(handle)


def settings(text: str) -> dict[str, str]:
    """Return the allowed names of `NAME=value` lines; the first of two counts, as for NCCL."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#") and processes.NAMES.fullmatch(name):
            found.setdefault(name, value[:VALUE_CAP])
    return found
