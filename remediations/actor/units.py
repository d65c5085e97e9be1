"""Units of systemd that hold GPUs: stopped for a reset and started again, by their fixed names."""

from remediations.actor.registry import Refused
from remediations.actor.run import Unsure, run

ASK_S, DO_S = 10.0, 60.0


def active(unit: str) -> bool:
    """Return whether it runs; where there is no systemd, none does."""
    try:
        return run("systemctl", "is-active", "--quiet", unit, seconds=ASK_S).status == 0
    except Refused:
        return False
    except Unsure as late:
        raise Refused("timeout", str(late)) from None


def stop(unit: str) -> None:
    """Stop it; Refused where it does not stop."""
    try:
        ran = run("systemctl", "stop", unit, seconds=DO_S)
    except Unsure as late:
        raise Refused("timeout", str(late)) from None
    if ran.status != 0:
        raise Refused("denied", f"systemctl stop {unit}: {ran.said}")


def start(unit: str, how: str = "start") -> str | None:
    """Start it; return in words why it did not."""
    try:
        ran = run("systemctl", how, unit, seconds=DO_S)
    except (Refused, Unsure) as no:
        return f"systemctl {how} {unit}: {no}"
    return None if ran.status == 0 else f"systemctl {how} {unit}: {ran.said}"
