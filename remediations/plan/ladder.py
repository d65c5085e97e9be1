"""How often a node and a part may be repaired before a person has to look."""

from collections.abc import Collection, Iterable

from remediations.plan.actions import Past

DAY_S = 86_400.0
WINDOW_S = 7 * DAY_S
MOST = 5
MOST_REBOOTS = 2
REBOOT = "slurm.reboot"


def objection(
    remedy: str,
    serial: str | None,
    history: Iterable[Past],
    now: float,
    counted: Collection[str],
) -> str | None:
    """Return why *remedy* is one too many for this node or this part, None where it is not.

    *counted* are the remedies that take something away. What the clock puts into the future
    counts, too: it was set back.
    """
    if remedy not in counted:
        return None
    recent = [past for past in history if past.remedy in counted and now - past.at < WINDOW_S]
    for what, some in (("node", recent), (f"part {serial}", _of(recent, serial))):
        if len(some) >= MOST:
            return f"this {what} had {len(some)} remedies in 7 days, and {MOST} are the most"
        reboots = sum(past.remedy == REBOOT for past in some)
        if remedy == REBOOT and reboots >= MOST_REBOOTS:
            return f"this {what} had {reboots} reboots in 7 days, which did not help it"
    return None


def _of(recent: Iterable[Past], serial: str | None) -> list[Past]:
    return [past for past in recent if serial is not None and past.serial == serial]
