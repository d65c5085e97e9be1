"""The verb `mlxlink`: what an adapter's firmware says of its module, cable and bit errors.

It is asked only when a person does: each answer takes the firmware many register reads. The options
read; none that clears counters, or sets anything, can be asked for.
"""

import os
from typing import Any

from collectors.helpers.children import tools
from collectors.helpers.children.loop import Refused
from collectors.helpers.children.network import checked, run

# -m module and cable, -c counters and bit error rates, -e eye opening.
OPTIONS = ("--json", "-m", "-c", "-e")
DEADLINE_S = 20.0
OUTPUT_CAP = 65_536


def mlxlink(device: str) -> dict[str, Any]:
    """Return status, stdout and stderr of `mlxlink` for one device, or `missing` and `detail`."""
    argv = ("-d", checked(device), *OPTIONS)
    if os.geteuid() != 0:
        raise Refused("denied", "only root may read an adapter's registers")
    return run((tools.path("mlxlink"),), argv, DEADLINE_S, OUTPUT_CAP)
