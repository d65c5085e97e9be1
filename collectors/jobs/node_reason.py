"""What Slurm says of this node: its state, and why it was taken out of use."""

import re

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.jobs.running import JobsOnNode
from collectors.node.protocol import Node

TOOL = "scontrol"
DEADLINE_S = 4.0

# A name that a command line takes as a name, and nothing else.
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
#    State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
STATE = re.compile(r"^\s+State=(?P<state>[A-Z_+*~#$!%@^-]{2,200})\s", re.MULTILINE)
# Before 21.08 signs stood for flags:    State=DOWN*+DRAIN
WORD = re.compile(r"[A-Z_]{2,40}|[*$@^]")
SIGNS = {"*": "NOT_RESPONDING", "$": "MAINT", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED"}
#    Reason=Kill task failed [root@2026-11-30T02:11:09]
REASON = re.compile(
    r"^\s+Reason=(?P<reason>.{1,300}?)(?: \[(?P<by>[\w.-]{1,64})@(?P<since>[\dT:-]{10,25})\])?\s*$",
    re.MULTILINE,
)


class NodeReason(Observation, frozen=True, kw_only=True):
    """The node's states (`IDLE`, `DRAIN`) and the reason with who gave it; empty without Slurm."""

    name: str | None = None
    states: tuple[str, ...] = ()
    reason: str | None = None
    by: str | None = None
    since: str | None = None


async def collect(node: Node, wanted: Wanted, jobs: JobsOnNode | Missing) -> NodeReason | Missing:
    """Ask the controller for this node alone, where Slurm is used."""
    del wanted
    if isinstance(jobs, Missing):
        return jobs
    if jobs.said("slurm") is None and jobs.unknown("slurm") is None:
        return NodeReason()
    return await asked(node, (await node.identity()).node.partition(".")[0])


async def asked(node: Node, name: str) -> NodeReason | Missing:
    """Return what the controller says of the node of that name."""
    if not NAME.fullmatch(name):
        return Missing(what=TOOL, cause=Cause.GARBLED, detail="the node's name is no host name")
    got = await node.command(TOOL, "show", "node", name, deadline_s=DEADLINE_S)
    if isinstance(got, Missing):
        return got
    if got.status != 0:
        said = (got.stderr or got.stdout).strip().partition("\n")[0][:120]
        return Missing(what=TOOL, cause=Cause.GARBLED, detail=f"scontrol show node: {said}")
    return parse(name, got.stdout)


def parse(name: str, text: str) -> NodeReason:
    """Return state and reason in what `scontrol show node` prints."""
    state, reason = STATE.search(text), REASON.search(text)
    return NodeReason(
        name=name,
        states=tuple(SIGNS.get(w, w) for w in WORD.findall(state["state"])) if state else (),
        reason=reason["reason"] if reason else None,
        by=reason["by"] if reason else None,
        since=reason["since"] if reason else None,
    )
