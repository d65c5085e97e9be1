"""What the silence of a node means: ok, late, lost, or maintenance."""

from typing import Literal

LATE_S = 90.0
LOST_S = 300.0
SOON_S = 3600.0

State = Literal["ok", "late", "lost", "maintenance"]


def state(
    received: float, now: float, *, listening_since: float, maintenance_until: float | None = None
) -> State:
    """Return the state of a node that was last heard at *received*; times in epoch seconds.

    A heartbeat comes every 30 s: three of them missing is late, ten lost. Nobody is blamed for
    the time in which the aggregator itself was not listening.
    """
    if maintenance_until is not None and maintenance_until > now:
        return "maintenance"
    silence = now - max(received, listening_since)
    if silence > LOST_S:
        return "lost"
    return "late" if silence > LATE_S else "ok"
