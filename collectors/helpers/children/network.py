"""The verb `ibping`: InfiniBand pings for those who may not open /dev/infiniband/umad*."""

import os
import re
import subprocess  # noqa: TID251 - a helper process may wait for a tool; the agent's loop may not
import time
from typing import Any

from collectors.helpers.children.loop import Refused

PATHS = ("/usr/sbin/ibping", "/usr/bin/ibping")
OPTIONS = ("-f", "-c", "10", "-t", "200")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C", "HOME": "/"}
MOST_TARGETS = 64
AT_ONCE = 4
DEADLINE_S = 8.0
# No new ping is begun after this: the whole answer is there in 14 s.
START_S = 6.0
OUTPUT_CAP = 8192

# 3        0x506b4b0300a1b2c3
LID = re.compile(r"[1-9][0-9]{0,4}")
GUID = re.compile(r"0x[0-9a-fA-F]{1,16}")


def ibping(targets: list[str]) -> list[dict[str, Any]]:
    """Ping LIDs (`3`) and port GUIDs (`0x...`) from the first active port, in the given order.

    Each entry holds status, stdout and stderr of the tool, or `missing` and `detail`.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - 8 ms that other verbs need not wait

    if len(targets) > MOST_TARGETS:
        raise Refused("held_back", f"{len(targets)} targets; at most {MOST_TARGETS} are pinged")
    if os.geteuid() != 0:
        raise Refused("denied", "only root may open /dev/infiniband/umad*")
    argvs = [_argv(target) for target in targets]
    began = time.monotonic()

    def one(argv: tuple[str, ...]) -> dict[str, Any]:
        if time.monotonic() - began > START_S:
            return {"missing": "timeout", "detail": f"not pinged within {START_S:g} s"}
        return _run(argv)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, argvs))


def _argv(target: str) -> tuple[str, ...]:
    if LID.fullmatch(target):
        return (*OPTIONS, "-L", target)
    if GUID.fullmatch(target):
        return (*OPTIONS, "-G", target)
    raise Refused("garbled", f"{target[:40]!r} is neither a LID nor a port GUID")


def _run(argv: tuple[str, ...]) -> dict[str, Any]:
    for path in PATHS:
        try:
            ran = subprocess.run(  # noqa: S603 - a path of ours, options of ours, a checked number
                (path, *argv),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=ENVIRONMENT,
                timeout=DEADLINE_S,
                check=False,
            )
        except FileNotFoundError:
            continue
        except subprocess.TimeoutExpired:
            return {"missing": "timeout", "detail": f"ibping did not end in {DEADLINE_S:g} s"}
        return {
            "status": ran.returncode,
            "stdout": ran.stdout[:OUTPUT_CAP].decode("utf-8", "backslashreplace"),
            "stderr": ran.stderr[:OUTPUT_CAP].decode("utf-8", "backslashreplace"),
        }
    return {"missing": "no_tool", "detail": "ibping is not installed"}
