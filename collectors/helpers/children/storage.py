"""The verbs of mounts and drives: room on file systems, SMART. Each can block for ever."""

import errno
import json
import os
import re
import subprocess  # noqa: TID251 - this is the helper: its parent holds the deadline, and no loop is stopped
from pathlib import Path
from typing import Any

from collectors.helpers.children.loop import Refused

SMARTCTL = ("/usr/sbin/smartctl", "/usr/local/sbin/smartctl", "/usr/bin/smartctl")
DRIVE = re.compile(r"nvme[0-9]{1,4}|sd[a-z]{1,3}")
# Below the 10 s that the parent waits, so that no smartctl outlives its helper.
SMART_S = 8.0
SMART_BYTES = 1 << 20
# What is judged; serial numbers and world-wide names are not among it.
SMART_KEYS = (
    "smartctl",
    "device",
    "model_name",
    "firmware_version",
    "smart_status",
    "nvme_smart_health_information_log",
    "power_on_time",
)


def statfs(point: str) -> dict[str, Any]:
    """Return the room on the file system at *point*, or the errno name of the refusal.

    `device` is the number of what lies there now: another one than the mount's means that
    something covers it.
    """
    try:
        room = os.statvfs(point)
        device = os.stat(point).st_dev
    except OSError as problem:
        return {"errno": errno.errorcode.get(problem.errno or 0, "EIO")}
    return {
        "size_bytes": room.f_blocks * room.f_frsize,
        "free_bytes": room.f_bavail * room.f_frsize,
        "inodes": room.f_files,
        "inodes_free": room.f_favail,
        "device": f"{os.major(device)}:{os.minor(device)}",
    }


def statfs_local(points: list[str]) -> list[dict[str, Any]]:
    """Return the answer of `statfs` for each of several local file systems."""
    return [statfs(point) for point in points]


def statfs_root(point: str) -> dict[str, Any]:
    """Return the answer of `statfs` with root's eyes; *point* must be a mount point here."""
    mounts = Path("/proc/self/mountinfo").read_bytes().decode("utf-8", "surrogateescape")
    points = {line.split(" ")[4] for line in mounts.splitlines() if line.count(" ") > 4}  # noqa: PLR2004 - field 5 of proc(5)
    if point not in map(unescaped, points):
        raise Refused("denied", "not a mount point of this node")
    return statfs(point)


def unescaped(text: str) -> str:
    r"""Return a path of mountinfo with its `\040` escapes undone."""
    return re.sub(r"\\([0-7]{3})", lambda hit: chr(int(hit[1], 8) & 0xFF), text)


def smart(device: str) -> dict[str, Any]:
    """Return the judged part of what `smartctl --json -a` says of one drive, named as in /dev."""
    if not DRIVE.fullmatch(device):
        raise Refused("denied", "not the name of a drive")
    tool = next((path for path in SMARTCTL if os.access(path, os.X_OK)), None)
    if tool is None:
        raise Refused("no_tool", "smartctl is not installed (package smartmontools)")
    try:
        ran = subprocess.run(  # noqa: S603 - fixed program, and a name that cannot be an option or a path
            (tool, "--json", "-a", f"/dev/{device}"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SMART_S,
            check=False,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise Refused("timeout", f"smartctl did not end in {SMART_S:g} s") from None
    return smart_answer(ran.stdout[:SMART_BYTES])


def smart_answer(text: bytes) -> dict[str, Any]:
    """Return the judged keys of smartctl's JSON; Refused where it could not ask the drive."""
    try:
        said = json.loads(text)
    except ValueError:
        raise Refused("garbled", f"smartctl printed no JSON ({len(text)} bytes)") from None
    if not isinstance(said, dict):
        raise Refused("garbled", "smartctl printed no JSON object")
    kept = {key: said[key] for key in SMART_KEYS if key in said}
    tool = kept.pop("smartctl", None)
    tool = tool if isinstance(tool, dict) else {}
    if "smart_status" not in kept and "nvme_smart_health_information_log" not in kept:
        raise Refused("crashed", _complaint(tool))
    return kept | {"exit_status": tool.get("exit_status")}


def _complaint(tool: dict[str, Any]) -> str:
    # "messages": [{"string": "Smartctl open device: /dev/nvme0 failed: ...", "severity": "error"}]
    messages = tool.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    said = first.get("string") if isinstance(first, dict) else None
    return str(said or f"smartctl ended with status {tool.get('exit_status')}")[:200]
