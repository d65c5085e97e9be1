"""Tiers of questions that a card answers in firmware, and when one is given up until the next boot.

A function that may not read its registers has each refusal written to the kernel log; asked every
minute, it fills it.
"""

import re

from collectors.facts.answers import Output
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.node.protocol import Node

# mlx5_core 0000:9b:00.0: mlx5_cmd_out_err:834:(pid 4401): ACCESS_REG(0x805) op_mod(0x1) failed,
#   status bad parameter(0x3), syndrome (0x15c356), err(-22)
# mlx5_core 0000:9b:00.0: mlx5_cmd_check:782:(pid 911): ACCESS_REG(0x805) op_mod(0x0) failed, ...
REFUSED = re.compile(r"mlx5_core \S{1,40}: .{0,80}ACCESS_REG\(0x805\).{0,40} failed")
# Cannot get stats strings information: Operation not permitted
# netlink error: Operation not permitted
DENIED = ("Operation not permitted", "Permission denied")
SAID_CAP = 200


class Tier:
    """One tier; `stopped` says why it is not asked any more in the boot of `boot_id`."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._stopped: tuple[str | None, str] | None = None

    async def stopped(self, node: Node, log: KernelLog | Missing) -> Missing | None:
        """Return why this tier is not to be asked, None where it is."""
        boot = (await node.identity()).boot_id
        if self._stopped is None or self._stopped[0] != boot:
            self._stopped = None
            if (line := refusal(log)) is not None:
                self._stopped = (boot, f"the kernel log tells of a refused register: {line}")
        if self._stopped is None:
            return None
        detail = f"{self._stopped[1]}; not asked again in this boot"
        return Missing(what=self._what, cause=Cause.HELD_BACK, detail=detail)

    async def denied(self, node: Node, got: Output | Missing) -> Missing | None:
        """Return why there is no answer, and stop, where *got* says that we may not ask."""
        if isinstance(got, Missing):
            # Where only the reader is not there, nobody has asked the card yet.
            if got.cause is Cause.DENIED and got.verb is None:
                await self._stop(node, got.detail)
            return got
        line = next((x for x in got.stderr.splitlines() if any(d in x for d in DENIED)), None)
        if line is None:
            return None
        await self._stop(node, line)
        return Missing(what=self._what, cause=Cause.DENIED, detail=line.strip()[:SAID_CAP])

    async def _stop(self, node: Node, why: str) -> None:
        self._stopped = ((await node.identity()).boot_id, why.strip()[:SAID_CAP])


def refusal(log: KernelLog | Missing) -> str | None:
    """Return the first line of this boot in which a card refused a register."""
    if isinstance(log, Missing):
        return None
    hits = (REFUSED.search(record.text) for record in log.by_kernel())
    return next((hit[0][:SAID_CAP] for hit in hits if hit is not None), None)
