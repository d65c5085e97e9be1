"""Slurm's node, as root of this node may change it: its own name alone, never another's.

A drain that a person set is left alone, and only ours is taken back: the reason's prefix tells.
"""

import os
import re
import socket
from pathlib import Path
from typing import Any

from remediations.actor.registry import Refused, Turn, question, verb
from remediations.actor.run import run

PREFIX = "gpudiag:"
OUT = frozenset({"DRAIN", "DOWN", "FAIL"})
ASK_S = 10.0
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
# State=IDLE+DRAIN ThreadsPerCore=1
STATE = re.compile(r"\bState=([A-Z_+*~#$!%@^-]+)")
# Reason=gpudiag: gpu_lost on 0000:41:00.0 [root@2026-11-30T02:11:09]
REASON = re.compile(r"\bReason=(.*?)(?: \[([\w.-]{1,64})@[\dT:-]+\])?\s*$", re.MULTILINE)


def own_name() -> str:
    """Return what the controller calls this node; the unit may say it where it is no host name."""
    name = os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]
    if not NAME.fullmatch(name):
        raise Refused("denied", f"{name:.80!r} is no name of a node")
    return name


def seen() -> dict[str, Any]:
    """Return states and reason of this node, as the controller has them now."""
    ran = run("scontrol", "show", "node", own_name(), "-o", seconds=ASK_S)
    if ran.status != 0 or (state := STATE.search(ran.stdout)) is None:
        raise Refused("garbled", f"scontrol show node: {ran.said}")
    reason = REASON.search(ran.stdout)
    states = sorted(re.findall(r"[A-Z_]{2,40}", state[1]))
    return {"states": states, "reason": reason[1] if reason else "", "by": reason and reason[2]}


@question
def slurm_node(state: Path) -> dict[str, Any]:
    """Return this node's states and reason, by the controller."""
    del state
    return seen()


@question
def slurm_drained(state: Path, reason: str) -> bool:
    """Return whether the drain with this reason stands."""
    del state
    return _ours(seen(), reason)


@question
def slurm_resumed(state: Path, reason: str) -> bool:
    """Return whether no drain stands; *reason* is that of the one which was taken back."""
    del state, reason
    return not OUT & set(seen()["states"])


@verb("slurm.drain", "slurm.resume")
def slurm_drain(turn: Turn, reason: str) -> str:
    """Let no new job come to this node; jobs that run go on."""
    del turn
    _prefixed(reason)
    now = seen()
    if OUT & set(now["states"]) and not now["reason"].startswith(PREFIX):
        raise Refused("denied", f"it is out of use already, and not by us: {now['reason']:.120}")
    _update("state=drain", f"reason={reason}")
    return "drained"


@verb("slurm.drain", "slurm.resume", undoes=True)
def slurm_resume(turn: Turn, reason: str) -> str:
    """Take the drain with this reason back; Refused where another stands, or none."""
    del turn
    _prefixed(reason)
    if not _ours(now := seen(), reason):
        raise Refused("denied", f"no such drain of ours stands on this node: {now['reason']:.120}")
    _update("state=resume")
    return "resumed"


def _ours(now: dict[str, Any], reason: str) -> bool:
    return "DRAIN" in now["states"] and now["reason"] == reason


def _prefixed(reason: str) -> None:
    if not reason.startswith(PREFIX):
        raise Refused("denied", f"a reason of ours begins with {PREFIX}")


def _update(*words: str) -> None:
    ran = run("scontrol", "update", f"nodename={own_name()}", *words, seconds=ASK_S)
    if ran.status != 0:
        raise Refused("denied", f"scontrol update: {ran.said}")
