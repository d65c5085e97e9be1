"""The reset of GPUs itself: own helpers closed first, everything put back afterwards.

What is about to be done stands on the disk before it is: whoever is killed in between leaves behind
what has to be put back, and the actor's tick does that.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from remediations.actor import clock, drained, gpu_holders, gpu_settings, letting_go, mig, units
from remediations.actor.apart import apart
from remediations.actor.gpu_holders import FABRIC_MANAGER, OURS, PERSISTENCED
from remediations.actor.gpu_settings import Gpus
from remediations.actor.journal import Journal
from remediations.actor.registry import Refused, Turn, every
from remediations.actor.run import Unsure, run
from remediations.policy import Policy

NAME = "reset.json"
RESET_S, SET_S, READ_S = 180.0, 30.0, 30.0
IN_USE = "In use by another client"
# Of these a reset through NVSwitch works one GPU at a time; older ones go all together.
SINGLY = ("H100", "H200", "H800", "H20", "GH200", "B100", "B200", "B300", "GB200", "GB300")
Record = dict[str, Any]


def reset(turn: Turn, gpus: list[str], *, fabric: bool = False) -> list[str]:
    """Reset *gpus*, or all where none is named; return in words what was not put back.

    Refused before anything is changed, or where the driver refuses. With *fabric* the fabric
    manager is stopped meanwhile, and started after it.
    """
    drained.must_be(turn.state)
    gpu_holders.must_be_none(*OURS, PERSISTENCED, FABRIC_MANAGER)
    if computing := _computing():
        raise Refused("denied", f"the driver says that process {computing[0]} uses a GPU")
    before = _settings()
    stopping = [PERSISTENCED, *([FABRIC_MANAGER] if fabric else [])]
    record: Record = {
        "id": turn.id,
        "boot": clock.boot_id(),
        "gpus": targets(before, gpus),
        "before": before,
        "units": [unit for unit in stopping if units.active(unit)],
        "touched": False,
        "meant": False,
        "done": False,
        "open": True,
    }
    keep(turn.state, record)
    with _put_right(turn.state, record) as problems:
        letting_go.let_go(turn.left_s + RESET_S)
        for unit in record["units"]:
            units.stop(unit)
        gpu_holders.must_be_none(*([] if fabric else [FABRIC_MANAGER]))
        drained.must_be(turn.state)
        _reset(turn, record)
    return problems


def targets(before: Gpus, gpus: list[str]) -> list[str]:
    """Return which are reset by name; none: all of them together."""
    told = [one for one in before.values() if one.get("links")]
    singly = all(any(name in str(one.get("name")) for name in SINGLY) for one in told)
    alone = all(one.get("links") == 0 for one in before.values())
    return gpus if before and (singly or alone) else []


def _computing() -> list[int]:
    try:
        told: list[int] = apart(gpu_holders.computing, READ_S)
    except Refused:
        return []  # the sick GPU may be why; who has it open was seen above
    return told


def _settings() -> Gpus:
    """Return what is set; nothing where the driver does not answer any more."""
    try:
        before = gpu_settings.read()
    except Refused:
        return {}
    for gpu, was in before.items():
        if was.get("mig"):
            was["instances"] = mig.instances(gpu)
    return before


def _reset(turn: Turn, record: Record) -> None:
    """Turn persistence off, then reset; Unsure where that does not end."""
    gpus = record["gpus"]
    chosen = ["-i", ",".join(gpus)] if gpus else []
    record["touched"] = True
    keep(turn.state, record)
    try:
        run("nvidia-smi", *chosen, "-pm", "0", seconds=SET_S)
    except Unsure as late:
        raise Refused("timeout", f"persistence is not turned off: {late}") from None
    record["meant"] = True
    keep(turn.state, record)
    ran = run("nvidia-smi", *chosen, "--gpu-reset", seconds=min(RESET_S, max(turn.left_s, 1.0)))
    said = f"{ran.stdout}\n{ran.stderr}"
    if ran.status != 0 or IN_USE in said:
        record["meant"] = False
        line = next((one for one in said.splitlines() if IN_USE in one), ran.said)
        raise Refused("denied", f"nvidia-smi --gpu-reset: {line.strip():.200}")
    record["done"] = True


@contextmanager
def _put_right(state: Path, record: Record) -> Iterator[list[str]]:
    """Start what was stopped and put back what was set, however it went."""
    problems: list[str] = []
    try:
        yield problems
    finally:
        problems += put_right(state, record)


def put_right(state: Path, record: Record) -> list[str]:
    """Start what was stopped, put back what was set, and have the agent ask again."""
    keep(state, record)
    problems = [no for unit in record["units"] if (no := units.start(unit))]
    before: Gpus = record["before"]
    if record["meant"] and not record["done"]:
        problems.append("the reset did not end: what was set before it is not put back")
    elif record["touched"]:
        problems += gpu_settings.put_back(before, sorted(before), state)
    if record["done"]:
        try:
            gone = gpu_settings.lacking(before, gpu_settings.read())
            problems += [f"{gpu} is not there any more" for gpu in gone]
        except Refused as no:
            problems.append(no.detail)
    letting_go.take_up()
    keep(state, record | {"open": False, "problems": problems})
    return problems


@every(30.0)
def finish_reset(state: Path, policy: Policy | None) -> None:
    """Put right what a reset left behind whose process was killed.

    After a reboot services and driver began anew, and jobs may be there: then nothing is touched.
    """
    del policy
    if (record := kept(state)) is None or not record["open"]:
        return
    with Journal(state).locked("act", wait=False) as mine:
        if not mine or (record := kept(state)) is None or not record["open"]:
            return
        if record.get("boot") == clock.boot_id():
            put_right(state, record)
        else:
            keep(state, record | {"open": False, "problems": ["the node was rebooted since"]})


def was_done(state: Path, action: str | None) -> bool:
    """Return whether the reset of this action was done; Refused where nobody knows."""
    record = kept(state)
    if record is None or record["id"] != action:
        return False
    if record["meant"] and not record["done"]:
        raise Refused("crashed", "the reset was begun, and nobody knows how it ended")
    return bool(record["done"])


def open_action(state: Path) -> str | None:
    """Return the id of the action that is open."""
    acted = Journal(state).actions().values()
    return next((one.id for one in acted if one.end is None), None)


def kept(state: Path) -> Record | None:
    """Return the record of the last reset."""
    try:
        record: Record = json.loads((state / NAME).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return record


def keep(state: Path, record: Record) -> None:
    """Write the record; when this returns it is on the disk."""
    new = state / f"{NAME}.new"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(state / NAME)
