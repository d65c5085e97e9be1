"""What Slurm says of this node and its jobs: one query a need, with a deadline, none at once.

Fields that users write (a job's name, a comment) are never asked for: they could hold what looks
like another field.
"""

import os
import random
import re
import socket
import time
from typing import NamedTuple

from remediations.actor.registry import Refused
from remediations.actor.run import Ran, Unsure, run

PREFIX = "gpudiag:"
ASK_S = 6.0
# What befalls a rack has all its nodes ask in the same second.
JITTER_S = 0.5
MOST_ROWS = 4096
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
# 22.05: State=IDLE+DRAIN+REBOOT_ISSUED; before 21.08 signs stood for flags: State=DOWN*+DRAIN
STATE = re.compile(r"\bState=([A-Z_+*~#$!%@^-]{2,200})(?=\s|$)")
WORD = re.compile(r"[A-Z_]{2,40}|[*$@^]")
SIGNS = {"*": "NOT_RESPONDING", "$": "MAINT", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED"}
# Reason=gpudiag: gpu_lost gpu 0000:41:00.0 incident 9f [root@2026-11-30T02:11:09] Comment=rack 7
REASON = re.compile(
    r"\bReason=(?P<reason>[^\n]{0,400}?)"
    r"(?: \[(?P<by>[\w.-]{1,64})@\d{4}-[\dT:-]{6,25}\](?=\s|$)|\s*$)",
    re.MULTILINE,
)
# RebootProgram           = /usr/sbin/reboot
SETTING = re.compile(r"^(RebootProgram|ReturnToService)\s*=\s*(\S[^\n]{0,300}?)\s*$", re.MULTILINE)
# 218741   88123    0        -       -
PROCESS = re.compile(r"^(\d{1,10})\s+(\d{1,10})\s+(\S{1,64})\s+\S+\s+\S+\s*$", re.MULTILINE)
NONE_HERE = "No job steps exist on this node."
# 88123.0 1-02:03:04
STEP = re.compile(r"^(\d{1,10})\.(\d{1,6}) ([\d:-]{4,20})\s*$", re.MULTILINE)
# 88123 RUNNING 1 1
JOB = re.compile(r"^(\d{1,10}) ([A-Z_]{2,20}) ([01]) ([01])\s*$", re.MULTILINE)
JOB_FIELDS = "JobID: ,State: ,Requeue: ,BatchFlag: "
# The step that only holds the job's place on a node; its process is Slurm's own.
EXTERN = "extern"


class Node(NamedTuple):
    """Its states, the reason for which it is out of use, and who gave that; empty: none."""

    states: frozenset[str]
    reason: str
    by: str


class Job(NamedTuple):
    """A job's state, whether it may be requeued, and whether it is a batch job."""

    state: str
    requeue: bool
    batch: bool


def own_name() -> str:
    """Return what the controller calls this node; the unit may say it where it is no host name."""
    name = os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]
    if not NAME.fullmatch(name):
        raise Refused("denied", f"{name:.80!r} is no name of a node")
    return name


def node() -> Node:
    """Return how this node stands with the controller now."""
    text = ask("scontrol", "show", "node", own_name(), "-o")
    if (found := node_of(text)) is None:
        raise Refused("garbled", "scontrol show node: no state")
    return found


def node_of(text: str) -> Node | None:
    """Return the node of one line of `scontrol show node -o`; None where it names no state."""
    if (state := STATE.search(text)) is None:
        return None
    reason = REASON.search(text, state.end())
    states = frozenset(SIGNS.get(word, word) for word in WORD.findall(state[1]))
    told = (reason["reason"], reason["by"] or "") if reason else ("", "")
    return Node(states, *told)


def settings() -> dict[str, str]:
    """Return RebootProgram and ReturnToService as the controller has them."""
    return settings_of(ask("scontrol", "show", "config"))


def settings_of(text: str) -> dict[str, str]:
    """Return the two of `scontrol show config`, the first of each."""
    found: dict[str, str] = {}
    for name, value in SETTING.findall(text):
        found.setdefault(name, value)
    return found


def processes() -> list[tuple[int, str, str]]:
    """Return pid, job and step of each process of a job on this node, by its slurmstepds.

    The controller is not asked. Refused where they could not be looked at.
    """
    ran = _run("scontrol", "listpids", "*", own_name())
    told = [line for line in ran.stderr.splitlines() if line.strip() not in ("", NONE_HERE)]
    if told or "JOBID" not in ran.stdout:
        said = told[0] if told else "no table"
        raise Refused("garbled", f"scontrol listpids: {said:.200}")
    return processes_of(ran.stdout)


def processes_of(text: str) -> list[tuple[int, str, str]]:
    """Return the rows of `scontrol listpids`, those of the step that holds the place left out."""
    rows = [(int(pid), job, step) for pid, job, step in PROCESS.findall(text)[:MOST_ROWS]]
    return [row for row in rows if row[2] != EXTERN]


def steps() -> dict[str, dict[str, int]]:
    """Return by job the numbered steps that run here by the controller, each with its seconds."""
    return steps_of(ask("squeue", "-h", "-s", "-w", own_name(), "-o", "%i %M"))


def steps_of(text: str) -> dict[str, dict[str, int]]:
    """Return the rows of `squeue -s`; batch, extern and interactive have no number."""
    found: dict[str, dict[str, int]] = {}
    for job, step, ran in STEP.findall(text)[:MOST_ROWS]:
        found.setdefault(job, {})[step] = seconds(ran)
    return found


def seconds(text: str) -> int:
    """Return the seconds of `1-02:03:04`, `02:03` or `0:09`."""
    days, _, clock = text.rpartition("-")
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part or 0)
    return total + 86_400 * int(days.rpartition("-")[2] or 0)


def job(number: str) -> Job | None:
    """Return how that job stands; None where the controller does not know it any more."""
    ran = _run("squeue", "-h", "-t", "all", "-j", number, "-O", JOB_FIELDS)
    if "Invalid job id" in ran.said:
        return None
    return jobs_of(_well(ran, "squeue")).get(number)


def jobs_of(text: str) -> dict[str, Job]:
    """Return by number the rows of `squeue -O`."""
    rows = JOB.findall(text)[:MOST_ROWS]
    return {number: Job(state, re_ == "1", batch == "1") for number, state, re_, batch in rows}


def ask(tool: str, *words: str) -> str:
    """Return what a client prints; Refused where it fails or is late: nothing was changed."""
    return _well(_run(tool, *words), tool)


def _run(tool: str, *words: str) -> Ran:
    spread_s = random.uniform(0.0, JITTER_S)  # noqa: S311 - no secret
    time.sleep(spread_s)  # noqa: TID251 - the actor may wait; the agent's loop may not
    try:
        return run(tool, *words, seconds=ASK_S)
    except Unsure as late:
        raise Refused("timeout", str(late)) from None


def _well(ran: Ran, tool: str) -> str:
    if ran.status != 0:
        raise Refused("garbled", f"{tool}: {ran.said}")
    return ran.stdout
