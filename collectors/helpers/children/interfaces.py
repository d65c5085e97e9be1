"""The interfaces child: flags, speed, MTU and addresses of all interfaces, by psutil."""

import socket
import sys
from typing import Any

import psutil

from collectors.helpers.children import loop

FAMILIES = (socket.AF_INET, socket.AF_INET6)
# Drivers that do not know their speed report 0, 65535 or -1 as unsigned.
UNKNOWN_SPEEDS = (0, 65_535, 4_294_967_295)


def interfaces() -> dict[str, Any]:
    """Return each interface by name; addresses without their zone, speed None where unknown."""
    addresses = psutil.net_if_addrs()
    answer = {}
    for name, stats in psutil.net_if_stats().items():
        flags = stats.flags.split(",")
        answer[name] = {
            "up": "up" in flags,
            "running": "running" in flags,
            "mtu": stats.mtu,
            "speed_mbps": None if stats.speed in UNKNOWN_SPEEDS else stats.speed,
            "addresses": [
                entry.address.partition("%")[0]
                for entry in addresses.get(name, [])
                if entry.family in FAMILIES
            ],
        }
    return answer


VERBS: loop.Verbs = {"interfaces": interfaces}


def main() -> int:
    """Answer on standard input and output until the parent closes them."""
    loop.serve(VERBS, sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
