"""Slurm's node, as root of this node may change it: its own name alone, never another's.

A drain that a person set is left alone, and only ours is taken back: the reason's prefix tells.
"""

from pathlib import Path
from typing import Any

from remediations.actor import controller
from remediations.actor.controller import PREFIX, Node
from remediations.actor.registry import Refused, Turn, question, verb
from remediations.actor.run import Unsure, run

OUT = frozenset({"DRAIN", "DOWN", "FAIL"})
# Slurm itself adds it to the reason of a reboot, and sets the node down.
REBOOTED = " : reboot complete"
CHANGE_S = 10.0
# How the controller says no. Whatever else a client complains of may have happened all the same.
NO = ("Invalid", "denied", "not permitted", "disabled", "connect failure", "Unable to contact")


def seen() -> dict[str, Any]:
    """Return states and reason of this node, as the controller has them now."""
    now = controller.node()
    return {"states": sorted(now.states), "reason": now.reason, "by": now.by or None}


@question
def slurm_node(state: Path) -> dict[str, Any]:
    """Return this node's states and reason, by the controller."""
    del state
    return seen()


@question
def slurm_drained(state: Path, reason: str) -> bool:
    """Return whether the drain with this reason stands."""
    del state
    return _ours(controller.node(), reason)


@question
def slurm_resumed(state: Path, reason: str) -> bool:
    """Return whether no drain stands; *reason* is that of the one which was taken back."""
    del state, reason
    return not OUT & controller.node().states


@verb("slurm.drain", "slurm.resume", undoes={"slurm.resume": "slurm_resume"})
def slurm_drain(turn: Turn, reason: str) -> str:
    """Let no new job come to this node; jobs that run go on."""
    del turn
    prefixed(reason)
    now = controller.node()
    if OUT & now.states:
        whose = "by us" if now.reason.startswith(PREFIX) else "and not by us"
        raise Refused("denied", f"it is out of use already, {whose}: {now.reason:.120}")
    change("update", f"nodename={controller.own_name()}", "state=drain", f"reason={reason}")
    return "drained"


@verb("slurm.drain", "slurm.resume", undoes={"slurm.drain": "slurm_drain"})
def slurm_resume(turn: Turn, reason: str) -> str:
    """Take the drain with this reason back; Refused where another stands, or none.

    So is what Slurm set down after a reboot of ours.
    """
    del turn
    prefixed(reason)
    now = controller.node()
    if not _ours(now, reason):
        raise Refused("denied", f"no such drain of ours stands on this node: {now.reason:.120}")
    if away := now.states & {"NOT_RESPONDING", "REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT"}:
        raise Refused("denied", f"the node is not back yet: {'+'.join(sorted(away))}")
    change("update", f"nodename={controller.own_name()}", "state=resume")
    return "resumed"


def _ours(now: Node, reason: str) -> bool:
    down = "DOWN" in now.states and now.reason.endswith(REBOOTED)
    return ("DRAIN" in now.states or down) and now.reason == reason


def prefixed(reason: str) -> None:
    """Refuse a reason that nobody would know to be ours."""
    if not reason.startswith(PREFIX):
        raise Refused("denied", f"a reason of ours begins with {PREFIX}")


def change(*words: str) -> None:
    """Have scontrol change something; Refused where the controller said no.

    Unsure where the answer was lost: the controller may have done it.
    """
    ran = run("scontrol", *words, seconds=CHANGE_S)
    if ran.status == 0:
        return
    said = f"scontrol {words[0]}: {ran.said}"
    if any(word in ran.said for word in NO):
        raise Refused("denied", said)
    raise Unsure(said)
