"""What the scheduler says of this node, as it matters for taking it away or giving it back."""

from remediations.plan.actions import Situation, SlurmNode

# How a reason of ours begins; whatever begins otherwise is somebody else's.
PREFIX = "gpudiag:"
# States in which Slurm gives the node to no new job.
OUT = frozenset({"DRAIN", "DRAINED", "DRAINING", "DOWN", "FAIL", "FAILING"})
# States in which something of a job may still be there.
BUSY = frozenset({"ALLOCATED", "MIXED", "COMPLETING", "DRAINING"})
# The node is on its way through a reboot, planned by whoever asked for it.
REBOOTS = frozenset({"REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT^", "POWERING_UP"})
SILENT = frozenset({"NOT_RESPONDING"})
# What Slurm adds to the reason when the node is back after `reboot nextstate=DOWN`.
REBOOTED = " : reboot complete"
MAINTENANCE = frozenset({"MAINT", "MAINTENANCE"})


def out(slurm: SlurmNode) -> bool:
    """Return whether no new job is put there."""
    return bool(slurm.states & OUT)


def idle(slurm: SlurmNode) -> bool:
    """Return whether Slurm says that nothing of a job is there."""
    return "IDLE" in slurm.states and not slurm.states & BUSY


def drained(slurm: SlurmNode) -> bool:
    """Return whether the node is out of use, and nothing of a job is left there."""
    return bool(slurm.states & {"DRAIN", "DRAINED"}) and idle(slurm)


def ours(slurm: SlurmNode) -> bool:
    """Return whether we took it out."""
    return out(slurm) and (slurm.reason or "").startswith(PREFIX)


def returnable(slurm: SlurmNode) -> bool:
    """Return whether it can be given back: drained, or down after a reboot of ours, and idle."""
    if slurm.states & (REBOOTS | SILENT):
        return False
    rebooted = "DOWN" in slurm.states and (slurm.reason or "").endswith(REBOOTED)
    return ours(slurm) and (drained(slurm) or rebooted)


def fault_of(reason: str | None) -> str | None:
    """Return the fault for which we took a node out: the word after our prefix."""
    words = (reason or "").removeprefix(PREFIX).split()
    return words[0].rstrip(":") if words and (reason or "").startswith(PREFIX) else None


def by_others(situation: Situation) -> str | None:
    """Return in words who else took the node out, None where nobody did."""
    slurm, kube = situation.slurm, situation.kubernetes
    if slurm is not None and out(slurm) and not ours(slurm):
        who = f" by {slurm.owner}" if slurm.owner else ""
        return f"Slurm has it out of use{who}: {slurm.reason or 'no reason given'}"
    if kube is not None and kube.unschedulable and not kube.ours:
        return f"it was cordoned by somebody else: {kube.reason or 'no reason given'}"
    return None


def still_busy(situation: Situation) -> str | None:
    """Return in words why something of a job may be on the node, None where nothing can be."""
    if situation.jobs is None:
        return "it is not known which jobs are on the node"
    if situation.jobs:
        named = ", ".join(situation.jobs[:3])
        return f"job {named} is on the node" if len(situation.jobs) == 1 else f"jobs {named} are"
    slurm, kube = situation.slurm, situation.kubernetes
    if slurm is None and kube is None:
        return "no scheduler says that the node is out of use"
    if slurm is not None and not drained(slurm):
        return f"the node is not drained: {'+'.join(sorted(slurm.states)) or 'state unknown'}"
    return "the node is not cordoned" if kube is not None and not kube.unschedulable else None
