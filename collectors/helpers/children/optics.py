"""The verb `module`: what the module in one interface's cage says of itself, by `ethtool -m`.

The kernel lets only CAP_NET_ADMIN read it. It only reads: no register of the module is written.
"""

import re
import subprocess  # noqa: TID251 - a helper process may wait for a tool; the agent's loop may not
from typing import Any

from collectors.helpers.children.loop import Refused

PATHS = ("/usr/sbin/ethtool", "/sbin/ethtool", "/usr/bin/ethtool")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C", "HOME": "/"}
DEADLINE_S = 4.0
OUTPUT_CAP = 16_384
# ens1f0np0        eth0.100
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,14}")


def module(device: str) -> dict[str, Any]:
    """Return status, stdout and stderr of `ethtool -m`."""
    if not NAME.fullmatch(device):
        raise Refused("garbled", f"{device[:40]!r} is no name of an interface")
    for path in PATHS:
        try:
            ran = subprocess.run(  # noqa: S603 - a path of ours, an option of ours, a checked name
                (path, "-m", device),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=ENVIRONMENT,
                timeout=DEADLINE_S,
                check=False,
            )
        except FileNotFoundError:
            continue
        except subprocess.TimeoutExpired:
            raise Refused("timeout", f"ethtool -m did not end in {DEADLINE_S:g} s") from None
        return {
            "status": ran.returncode,
            "stdout": ran.stdout[:OUTPUT_CAP].decode("utf-8", "backslashreplace"),
            "stderr": ran.stderr[:OUTPUT_CAP].decode("utf-8", "backslashreplace"),
        }
    raise Refused("no_tool", "ethtool is not installed")
