"""The node's power limit by its BMC, in band: DCMI 1.5, sections 6.6.2 to 6.6.5.

The limit is read first. One that is not ours is never touched. The exception action is always
`none`: a node that cannot keep a limit must not be switched off for it. All other fields are set
as they were read, and read back before the limit is activated.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from collectors.helpers.children import ipmi, kept
from remediations.actor.registry import Refused
from remediations.actor.target import Reading, another

ASK_S = 10.0
GROUP = (0x2C,)
EXTENSION = 0xDC
DRAWN, SET, ACTIVATE = 0x02, 0x04, 0x05
MOST_WATTS = 0xFFFF
NO_ACTION = "No Action"
# DCMI 1.5, 6.6.3, as ipmitool words them.
ACTIONS = {NO_ACTION: 0, "Hard Power Off & Log Event to SEL": 1, "Log Event to SEL": 0x11}

#     Current Limit State: No Active Power Limit
#     Exception actions:   Hard Power Off & Log Event to SEL
#     Power Limit:         1500 Watts
#     Correction time:     1000 milliseconds
#     Sampling period:     60 seconds
STATE = re.compile(r"^\s*Current Limit State:\s*(.{1,60}?)\s*$", re.MULTILINE)
ACTION = re.compile(r"^\s*Exception actions:\s*(.{1,60}?)\s*$", re.MULTILINE)
WATTS = re.compile(r"^\s*Power Limit:\s*(\d{1,5}) Watts", re.MULTILINE)
CORRECTION = re.compile(r"^\s*Correction time:\s*(\d{1,10}) milliseconds", re.MULTILINE)
SAMPLING = re.compile(r"^\s*Sampling period:\s*(\d{1,5}) seconds", re.MULTILINE)
ACTIVE, INACTIVE = "Power Limit Active", "No Active Power Limit"


class Limit(NamedTuple):
    """The limit as the BMC keeps it, active or not."""

    active: bool
    watts: int
    action: str
    correction_ms: int
    sampling_s: int


def limit(text: str) -> Limit:
    """Return what `ipmitool dcmi power get_limit` printed; Refused where a field is missing."""
    hits = [p.search(text) for p in (STATE, ACTION, WATTS, CORRECTION, SAMPLING)]
    if any(hit is None for hit in hits):
        raise Refused("garbled", "the BMC does not tell its power limit by DCMI")
    state, action, watts, correction, sampling = (hit[1] for hit in hits if hit is not None)
    if state not in (ACTIVE, INACTIVE):
        raise Refused("garbled", f"the BMC's power limit is in a state that is not known: {state}")
    return Limit(state == ACTIVE, int(watts), action, int(correction), int(sampling))


class Dcmi:
    """The node's limit in W. Without one, the limit is *base*: what the node drew at the start.

    *found* is the limit that the BMC kept and did not enforce before the first one of ours.
    """

    unit = "W"

    def __init__(self, base: int | None, found: Mapping[str, str]) -> None:
        self._base = base
        self.found = found

    def read(self) -> Reading:
        """Return the limit in force, beside what the node draws without one."""
        with kept.alone("bmc", ASK_S):
            now = _get()
            if now.active and self._base is None:
                # What is drawn under it cannot be told from the limit itself.
                raise Refused("denied", another(now.watts))
            if self._base is None:
                self.found = {"watts": str(now.watts), "action": now.action}
            base = self._base if self._base is not None else _drawn()
        return Reading(now.watts if now.active else base, base, 0)

    def put(self, limit: int) -> int:
        """Set the limit, read it back, and only then activate it; return what is in force."""
        if not 0 < limit <= MOST_WATTS:
            raise Refused("denied", f"{limit} W is no limit that DCMI can hold")
        with kept.alone("bmc", ASK_S):
            before = _get()
            _set(limit, before)
            back = _get()
            wanted = before._replace(watts=limit, action=NO_ACTION)
            if back != wanted._replace(active=back.active):
                raise Refused(
                    "denied", f"the BMC kept {back} where {wanted} was set: not activated"
                )
            if not back.active:
                _ask(ACTIVATE, 1, 0, 0)
                back = _get()
            if not back.active:
                raise Refused("denied", "the BMC does not activate the limit that it keeps")
        return back.watts

    def restore(self, before: int) -> None:
        """Deactivate the limit: what was before is none; and have the BMC keep what it kept."""
        del before
        with kept.alone("bmc", ASK_S):
            _ask(ACTIVATE, 0, 0, 0)
            now = _get()
            if now.active:
                raise Refused("denied", "the BMC does not deactivate its power limit")
            action = ACTIONS.get(self.found.get("action", ""))
            if action is not None:
                # Not enforced: a BMC that refuses it, as it may a limit of 0 W, is lifted as well.
                with suppress(Refused):
                    _set(int(self.found["watts"]), now, action)


def _get() -> Limit:
    # The raw request says nothing where no limit is active: completion code 80h comes with the
    # fields, and `ipmitool raw` prints none of them then.
    ran = ipmi.run(("dcmi", "power", "get_limit"), "", ASK_S)
    if ran.status != 0:
        raise Refused("crashed", ipmi.complaint(ran))
    return limit(ran.stdout)


def _drawn() -> int:
    data = _ask(DRAWN, 1, 0, 0)
    watts = int.from_bytes(data[1:3], "little")
    # Bit 6 of the last byte: the measurement is active.
    if len(data) < 18 or not data[17] & 0x40 or not watts:  # noqa: PLR2004 - 6.6.1
        raise Refused("crashed", "the BMC does not measure what the node draws")
    return watts


def _set(watts: int, before: Limit, action: int = 0) -> None:
    """Set a limit; without *action*, nothing is done where it is passed."""
    _ask(
        SET,
        *(0, 0, 0),
        action,
        *watts.to_bytes(2, "little"),
        *before.correction_ms.to_bytes(4, "little"),
        *(0, 0),
        *before.sampling_s.to_bytes(2, "little"),
    )


def _ask(command: int, *data: int) -> bytes:
    (reply,) = ipmi.ask([(*GROUP, command, EXTENSION, *data)], ASK_S)
    if reply.code != 0:
        code = "no" if reply.code is None else f"{reply.code:#04x}"
        raise Refused("denied", f"the BMC answers DCMI command {command:#04x} with code {code}")
    return reply.data
