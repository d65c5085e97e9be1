"""NVIDIA's services: persistenced and the fabric manager, started again on a drained node."""

import re
import time
from pathlib import Path

from remediations.actor import drained, gpu_holders, gpu_settings, resetting, units
from remediations.actor.gpu_holders import FABRIC_MANAGER, OURS, PERSISTENCED
from remediations.actor.registry import Refused, Turn, question, verb
from remediations.actor.run import Unsure, run

ASK_S, ROUND_S, ON_S = 30.0, 2.0, 60.0
# All times by this factor: 1 but in a rehearsal.
factor = 1.0
KEPT = 5
# Fabric Manager version is : 580.95.05
VERSION = re.compile(r"\b(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)\b")


@question
def persistenced_state(state: Path) -> bool:
    """Return whether the service runs and every GPU is in persistence mode."""
    del state
    return units.active(PERSISTENCED) and _persistent()


def _persistent() -> bool:
    told = gpu_settings.read()
    return bool(told) and all(one.get("persistence") == 1 for one in told.values())


@verb("persistenced.restart")
def persistenced_restart(turn: Turn) -> str:
    """Start nvidia-persistenced again, after the volatile counters were saved."""
    drained.must_be(turn.state)
    gpu_holders.must_be_none(*OURS, PERSISTENCED, FABRIC_MANAGER)
    path = _counters(turn)
    if (problem := units.start(PERSISTENCED, "restart")) is not None:
        raise Unsure(problem)
    end = time.monotonic() + ON_S * factor
    while not _persistent():
        if time.monotonic() >= end:
            return f"restarted; persistence mode is not on yet; counters in {path}"
        time.sleep(ROUND_S * factor)  # noqa: TID251 - the actor may wait; the agent's loop may not
    return f"restarted, and persistence mode is on; counters in {path}"


def _counters(turn: Turn) -> Path:
    """Save what the driver forgets when its last user goes; Refused where that cannot be."""
    folder = turn.state / "counters"
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        ran = run("nvidia-smi", "-q", seconds=ASK_S)
    except Unsure as late:
        raise Refused("timeout", f"the counters cannot be saved: {late}") from None
    if ran.status != 0 or not ran.stdout:
        raise Refused("denied", f"the counters cannot be saved: nvidia-smi -q: {ran.said}")
    path = folder / f"{turn.id}.txt"
    path.write_text(ran.stdout)
    every = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime)
    for old in every[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


@question
def fabric_state(state: Path) -> bool:
    """Return whether the open action has reset all, and the fabric is set up on every GPU."""
    reset = resetting.was_done(state, resetting.open_action(state))
    return reset and gpu_settings.completed(gpu_settings.read())


@verb("fabric_manager.restart")
def fabric_manager_restart(turn: Turn) -> str:
    """Stop it, reset all GPUs, start it, and wait until the fabric is set up."""
    _same_version()
    problems = resetting.reset(turn, [], fabric=True)
    if not units.active(FABRIC_MANAGER) and (no := units.start(FABRIC_MANAGER)) is not None:
        problems.append(no)
    end = time.monotonic() + min(turn.left_s, 600.0) * factor
    while not gpu_settings.completed(gpu_settings.read()):
        if time.monotonic() >= end:
            return "; ".join(["started again; the fabric is not set up yet", *problems])[:480]
        time.sleep(ROUND_S * factor)  # noqa: TID251 - the actor may wait; the agent's loop may not
    return "; ".join(["started again, and the fabric is set up", *problems])[:480]


def _same_version() -> None:
    """Raise Refused unless it is exactly the driver's: another one does not start."""
    driver = gpu_settings.driver_version()
    try:
        ran = run("nv-fabricmanager", "--version", seconds=ASK_S)
    except Unsure as late:
        raise Refused("timeout", str(late)) from None
    hit = VERSION.search(ran.stdout)
    if hit is None or hit[1] != driver:
        told = hit[1] if hit else "unknown"
        raise Refused("denied", f"fabric manager is {told}, the driver {driver}: install its own")
