"""A reboot through Slurm, which does it itself, and gives the node to nobody before it was checked.

`reboot ASAP nextstate=DOWN` leaves the node down afterwards. Under ReturnToService=2 a node that is
down goes into service as soon as it registers: there the drain is what holds it, and Slurm clears a
drain after ASAP or a next state alone.
"""

from pathlib import Path

from remediations.actor import clock, controller, slurm
from remediations.actor.controller import PREFIX
from remediations.actor.journal import Journal
from remediations.actor.registry import Refused, Turn, question, verb

REMEDY = "slurm.reboot"
PENDING = frozenset({"REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED"})
HELD_DOWN = ("0", "1")
UNSET = "(null)"


@question
def reboot_asked(state: Path, reason: str) -> bool:
    """Return whether Slurm has our reboot before it or behind it."""
    if rebooted(state, reason):
        return True
    now = controller.node()
    return bool(PENDING & now.states) and now.reason.startswith(reason)


@question
def rebooted(state: Path, reason: str) -> bool:
    """Return whether the kernel names another boot than when the open reboot was begun."""
    del reason
    known = Journal(state).actions().values()
    mine = [one for one in known if one.end is None and one.begin["remedy"] == REMEDY]
    return any(one.begin["boot_id"] != clock.boot_id() for one in mine)


@verb("slurm.reboot")
def slurm_reboot(turn: Turn, reason: str) -> str:
    """Have Slurm reboot this node, which we drained, and on which nothing of a job is left."""
    slurm.prefixed(reason)
    if rebooted(turn.state, reason):
        raise Refused("denied", "it was rebooted since the action was begun")
    _idle()
    found = controller.settings()
    if found.get("RebootProgram", UNSET) == UNSET:
        raise Refused("denied", "slurm.conf names no RebootProgram: Slurm cannot reboot the node")
    held = found.get("ReturnToService") in HELD_DOWN
    words = ("ASAP", "nextstate=DOWN") if held else ()
    slurm.change("reboot", *words, f"reason={reason}", controller.own_name())
    return "reboot requested: " + ("down afterwards" if held else "drained afterwards")


@verb("slurm.reboot", undoes={"slurm.reboot": "slurm_reboot"})
def slurm_cancel_reboot(turn: Turn, reason: str) -> str:
    """Take back a reboot that Slurm has not begun; Refused where there is none of ours."""
    del turn
    slurm.prefixed(reason)
    now = controller.node()
    if "REBOOT_REQUESTED" not in now.states or not now.reason.startswith(reason):
        raise Refused("denied", f"no reboot of ours is pending: {'+'.join(sorted(now.states))}")
    slurm.change("cancel_reboot", controller.own_name())
    return "reboot cancelled"


def _idle() -> None:
    """Refuse a node that is not out by us, or on which anything of a job may be."""
    now = controller.node()
    states = "+".join(sorted(now.states))
    if "DRAIN" not in now.states or not now.reason.startswith(PREFIX):
        raise Refused("denied", f"no drain of ours stands on this node: {states} {now.reason:.120}")
    if "IDLE" not in now.states or now.states & {"COMPLETING", *PENDING}:
        raise Refused("denied", f"the node is not idle: {states}")
    if left := controller.processes():
        pid, job, step = left[0]
        raise Refused("denied", f"process {pid} of job {job}.{step} is on the node")
