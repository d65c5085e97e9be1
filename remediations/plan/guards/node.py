"""Whether the node is in a state in which the remedy may touch it."""

from collectors.facts.owner import owner
from remediations.plan import scheduler
from remediations.plan.actions import Action, Holder, Remedy, Situation
from remediations.plan.guards.grounds import NEEDS_HOLDERS
from remediations.plan.guards.guard import Guard, guard, takes_away

GRACE_S = 300.0
NEEDS_IDLE = frozenset(
    {"persistenced.restart", "gpu.reset", "fabric_manager.restart", "slurm.reboot"}
)
# What the reset itself stops and starts again, by the unit that the kernel says it is in.
STOPPED = frozenset(
    {
        "nvidia-persistenced.service",
        "nvidia-fabricmanager.service",
        "gpudiag-agent.service",
        "gpudiag-reader.service",
    }
)


@guard("waits")
def booting(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object while the node may still be starting its services."""
    del action
    up = situation.booted_s_ago
    if remedy.takes == "nothing" or up is None or up >= GRACE_S:
        return None
    return f"the node was booted {up:.0f} s ago, less than {GRACE_S:.0f} s"


@guard("refused")
def maintenance(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where people work on the node."""
    del action
    if remedy.takes == "nothing" and remedy.about == "incident":
        return None
    if situation.maintenance is not None:
        return f"the node is in maintenance: {situation.maintenance}"
    states = situation.slurm.states if situation.slurm else frozenset[str]()
    if states & scheduler.MAINTENANCE:
        return "Slurm has the node in maintenance"
    return "the node is about to be rebooted" if states & scheduler.REBOOTS else None


@guard("refused")
def duty(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where others need the node for more than its GPUs."""
    del action
    if not takes_away(remedy) or not situation.duties:
        return None
    return f"the node has another duty: {', '.join(situation.duties[:4])}"


@guard("refused")
def others(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where somebody else took the node out: it is theirs."""
    del action
    concerned = takes_away(remedy) or remedy.about == "node"
    return scheduler.by_others(situation) if concerned else None


@guard("waits")
def busy(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object while something of a job may be there."""
    del action
    return scheduler.still_busy(situation) if remedy.name in NEEDS_IDLE else None


@guard("waits")
def holders(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object while somebody has a GPU open."""
    del action
    if remedy.name not in NEEDS_HOLDERS & NEEDS_IDLE:
        return None
    there = [one for one in situation.holders or () if not _stopped(one)]
    if not there:
        return None
    named = ", ".join(f"{one.pid} ({one.comm})" for one in there[:3])
    return f"a GPU is open in process {named}"


def _stopped(holder: Holder) -> bool:
    return holder.own or owner(holder.cgroup).unit in STOPPED


GUARDS: tuple[Guard, ...] = (booting, maintenance, duty, others, busy, holders)
