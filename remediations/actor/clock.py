"""When something was, in words that outlive a restart, a reboot and a clock that was set."""

import os
import time
from pathlib import Path
from typing import Any

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return the kernel's name of this boot."""
    return BOOT_ID.read_text().strip()


def token() -> str:
    """Return a name that nobody guesses."""
    return os.urandom(8).hex()


def up_s() -> float:
    """Return the seconds since the boot, those asleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def stamp() -> dict[str, Any]:
    """Return `at` (epoch seconds), `up` (seconds since the boot) and the boot that they are of."""
    return {"at": time.time(), "up": up_s(), "boot": boot_id()}


def since(stamped: dict[str, Any]) -> float:
    """Return how long ago it was stamped: of both clocks the one that says longer.

    A wall clock that was set back would prolong a deadline; the other clock does not outlive a
    reboot.
    """
    by_wall = time.time() - float(stamped["at"])
    return max(by_wall, up_s() - float(stamped["up"])) if stamped["boot"] == boot_id() else by_wall
