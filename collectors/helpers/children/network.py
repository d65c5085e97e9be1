"""Verbs that send management packets, for those who may not open /dev/infiniband/umad*."""

import os
import re
import subprocess  # noqa: TID251 - a helper process may wait for a tool; the agent's loop may not
import time
from typing import Any

from collectors.helpers.children.loop import Refused

PATHS = ("/usr/sbin/ibping", "/usr/bin/ibping")
SMINFO = ("/usr/sbin/sminfo", "/usr/bin/sminfo")
SMPQUERY = ("/usr/sbin/smpquery", "/usr/bin/smpquery")
OPTIONS = ("-f", "-c", "10", "-t", "200")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C", "HOME": "/"}
MOST_TARGETS = 64
DEADLINE_S = 8.0
# No new ping is begun after this: the whole answer is there in 17 s.
START_S = 9.0
OUTPUT_CAP = 8192
# A manager that restarts is back after a moment; three tries of 200 ms, and all of it once more.
QUERY = ("-t", "200")
QUERY_S = 3.0
AGAIN_S = 1.0
MOST_DEVICES = 64

# mlx5_3
DEVICE = re.compile(r"[A-Za-z][0-9A-Za-z_]{0,63}")
# 3        0x506b4b0300a1b2c3
LID = re.compile(r"[1-9][0-9]{0,4}")
GUID = re.compile(r"0x[0-9a-fA-F]{1,16}")


def ibping(targets: list[str], devices: list[str] | None = None) -> list[dict[str, Any]]:
    """Ping LIDs (`3`) and port GUIDs (`0x...`), one after the other, in the given order.

    Each goes by port 1 of its entry in *devices*, or by the first active port of the machine where
    that is "". An answer holds status, stdout, stderr and seconds, or `missing` and `detail`.
    """
    if len(targets) > MOST_TARGETS:
        raise Refused("held_back", f"{len(targets)} targets; at most {MOST_TARGETS} are pinged")
    if os.geteuid() != 0:
        raise Refused("denied", "only root may open /dev/infiniband/umad*")
    named = [""] * len(targets) if devices is None else devices
    if len(named) != len(targets):
        raise Refused("garbled", f"{len(named)} devices for {len(targets)} targets")
    argvs = [_argv(target, device) for target, device in zip(targets, named, strict=True)]
    began = time.monotonic()

    def one(argv: tuple[str, ...]) -> dict[str, Any]:
        if time.monotonic() - began > START_S:
            return {"missing": "timeout", "detail": f"not pinged within {START_S:g} s"}
        return _run(argv)

    return [one(argv) for argv in argvs]


def _argv(target: str, device: str) -> tuple[str, ...]:
    way = ("-C", checked(device), "-P", "1") if device else ()
    if LID.fullmatch(target):
        return (*OPTIONS, *way, "-L", target)
    if GUID.fullmatch(target):
        return (*OPTIONS, *way, "-G", target)
    raise Refused("garbled", f"{target[:40]!r} is neither a LID nor a port GUID")


def sminfo(devices: list[str]) -> list[dict[str, Any]]:
    """Ask the subnet manager of port 1 of each device who it is, once more where it is silent."""
    _allowed(devices)
    answers = [_queried(SMINFO, (*QUERY, *_port(device))) for device in devices]
    silent = [n for n, answer in enumerate(answers) if answer.get("status")]
    if silent:
        time.sleep(AGAIN_S)  # noqa: TID251 - a helper process may wait
    for number in silent:
        answers[number] = _queried(SMINFO, (*QUERY, *_port(devices[number])))
    return answers


def neighbours(devices: list[str]) -> list[dict[str, Any]]:
    """Ask what is at the other end of the cable of port 1 of each device: one hop, no further.

    Each entry holds `info` and `name`, in the form of `ibping`.
    """
    _allowed(devices)
    return [
        {
            "info": _queried(SMPQUERY, (*QUERY, *_port(device), "-D", "nodeinfo", "0,1")),
            "name": _queried(SMPQUERY, (*QUERY, *_port(device), "-D", "nodedesc", "0,1")),
        }
        for device in devices
    ]


def _allowed(devices: list[str]) -> None:
    if len(devices) > MOST_DEVICES:
        raise Refused("held_back", f"{len(devices)} devices; at most {MOST_DEVICES} are asked")
    if os.geteuid() != 0:
        raise Refused("denied", "only root may open /dev/infiniband/umad*")


def _port(device: str) -> tuple[str, ...]:
    return ("-C", checked(device), "-P", "1")


def _queried(paths: tuple[str, ...], argv: tuple[str, ...]) -> dict[str, Any]:
    return run(paths, argv, QUERY_S)


def checked(device: str) -> str:
    """Return the name of an RDMA device, and refuse what is none."""
    if DEVICE.fullmatch(device):
        return device
    raise Refused("garbled", f"{device[:40]!r} is no name of an RDMA device")


def _run(argv: tuple[str, ...]) -> dict[str, Any]:
    return run(PATHS, argv, DEADLINE_S)


def run(
    paths: tuple[str, ...], argv: tuple[str, ...], deadline_s: float, cap: int = OUTPUT_CAP
) -> dict[str, Any]:
    """Run the first of *paths* that is there; return what it printed, or why there is nothing."""
    tool = os.path.basename(paths[0])
    for path in paths:
        began = time.monotonic()
        try:
            ran = subprocess.run(  # noqa: S603 - a path of ours, options of ours, a checked number
                (path, *argv),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=ENVIRONMENT,
                timeout=deadline_s,
                check=False,
            )
        except FileNotFoundError:
            continue
        except subprocess.TimeoutExpired:
            return {"missing": "timeout", "detail": f"{tool} did not end in {deadline_s:g} s"}
        return {
            "status": ran.returncode,
            "stdout": ran.stdout[:cap].decode("utf-8", "backslashreplace"),
            "stderr": ran.stderr[:cap].decode("utf-8", "backslashreplace"),
            "seconds": round(time.monotonic() - began, 4),
        }
    return {"missing": "no_tool", "detail": f"{tool} is not installed"}
