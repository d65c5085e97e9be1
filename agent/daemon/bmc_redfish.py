"""The BMC's sensors by Redfish, which the actor reads: it alone may have the BMC's password."""

from contextlib import suppress

import msgspec

from collectors.bmc.sensors import BmcSensors
from remediations.act.hand import Done, Hand

# Two answers of a BMC, each with its deadline.
ASK_S = 25.0


class ByRedfish:
    """What the BMC told last; asked for anew after *period_s*."""

    def __init__(self, hand: Hand, period_s: float) -> None:
        self._hand = hand
        self._period_s = period_s
        self._asked_s: float | None = None
        self._told_s = 0.0
        self._told: BmcSensors | None = None

    async def newest(self, now_s: float) -> BmcSensors | None:
        """Return what the BMC told last, with its age, which grows while it is silent.

        None where it never spoke: one that has no such resource has not fallen silent.
        """
        if self._asked_s is None or now_s - self._asked_s >= self._period_s:
            self._asked_s = now_s
            answer = await self._hand.ask("node_sensors", {}, deadline_s=ASK_S)
            with suppress(ValueError):
                if isinstance(answer, Done):
                    self._told = msgspec.convert(answer.value, BmcSensors)
                    self._told_s = now_s
        if self._told is None:
            return None
        return msgspec.structs.replace(self._told, age_s=now_s - self._told_s)
