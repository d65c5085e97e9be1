"""How often a node, or a part in whatever node, was tried: then a person has to look.

The node's own root helper counts too; a node that boots without a disk forgets, and a part that
was moved takes its history with it.
"""

from collections.abc import Iterable

import msgspec

WINDOW_S = 7 * 86_400.0
MOST = 5
MOST_REBOOTS = 2


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """A remedy for which a lease was given."""

    node: str
    remedy: str
    at: float
    serial: str | None = None


def reboots(remedy: str) -> bool:
    """Return whether a remedy restarts the machine."""
    return remedy.endswith(".reboot")


def objection(
    node: str, remedy: str, serial: str | None, past: Iterable[Granted], now: float
) -> str | None:
    """Return why it is not tried again, in words."""
    recent = [one for one in past if now - one.at < WINDOW_S]
    kinds = [(f"node {node}", [one for one in recent if one.node == node])]
    if serial:
        kinds.append((f"serial {serial}", [one for one in recent if one.serial == serial]))
    for what, of in kinds:
        restarted = sum(reboots(one.remedy) for one in of)
        if reboots(remedy) and restarted >= MOST_REBOOTS:
            return f"{restarted} reboots in 7 days for {what}: a person has to look"
        if len(of) >= MOST:
            return f"{len(of)} remedies in 7 days for {what}: a person has to look"
    return None
