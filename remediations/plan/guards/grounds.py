"""Whether what is known is ground enough to act upon."""

from collections.abc import Iterator

from diagnostics.finding import RANK, Finding
from remediations.plan.actions import Action, Remedy, Situation
from remediations.plan.guards.guard import Guard, guard, root_of, takes_away
from remediations.plan.trusted import trusted, untrusted

# A finding that its own check is less sure of is for a person.
LEAST_SURE = 0.8
# The walk comes every 30 s; what a check was shown may be a few periods old, and no more.
OLDEST_S = 120.0
# Who cannot see the kernel's log does not know that a node is well.
KERNEL = "driver.kernel_log"
MAINTENANCE = "jobs.maintenance"
# What must not be disturbed while a job or a process may still use a GPU.
NEEDS_JOBS = frozenset(
    {
        "process.end_orphan",
        "persistenced.restart",
        "gpu.reset",
        "fabric_manager.restart",
        "slurm.reboot",
    }
)
NEEDS_HOLDERS = NEEDS_JOBS - {"slurm.reboot"}


@guard("refused")
def cause(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where no finding above a note, surely known, is the root of it."""
    if remedy.about == "node":
        return None
    root = _root(action, situation)
    if root is None:
        return "its root cause is not known"
    if RANK[root.severity] == 0:
        return f"{root.fault} is only a note"
    if root.explained_by is not None:
        return f"{root.fault} follows from something else"
    if root.confidence < LEAST_SURE:
        return f"it is only {root.confidence:.0%} sure"
    return None


@guard("refused")
def standing(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where the incident is over."""
    del remedy
    mine = (one for one in situation.incidents if one.fingerprint == action.incident)
    return "the incident is resolved" if any(one.state == "resolved" for one in mine) else None


@guard("refused")
def unknown(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where anything that it rests on is not known: that is never read as well."""
    lacking = next(_lacking(action, remedy, situation), None)
    return None if lacking is None else f"not known: {lacking}"


def _lacking(action: Action, remedy: Remedy, situation: Situation) -> Iterator[str]:
    if situation.node is None:
        yield "which node this is"
    if situation.boot_id is None:
        yield "which boot this is"
    if remedy.takes != "nothing" and situation.booted_s_ago is None:
        yield "when the node was booted"
    if takes_away(remedy) and situation.duties is None:
        yield "what else the node does for others"
    if remedy.takes != "nothing" and MAINTENANCE in situation.blind:
        yield "whether people work on the node"
    if remedy.name in NEEDS_JOBS and situation.jobs is None:
        yield "which jobs are on the node"
    if remedy.name in NEEDS_HOLDERS and situation.holders is None:
        yield "who has the GPUs open"
    # A node that lost all its GPUs has nothing wrong with any.
    if remedy.about == "node" and situation.no_gpu:
        yield "which GPUs the node has"
    root = _root(action, situation)
    rests_on = (*action.verify, KERNEL) if remedy.about == "node" else (root.check,) if root else ()
    blind = [name for name in rests_on if name in situation.blind]
    if blind:
        yield f"what {blind[0]} would say"


@guard("waits")
def fresh(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where what it rests on was seen too long ago."""
    del remedy
    root = _root(action, situation)
    age = situation.ages_s.get(root.check, 0.0) if root else 0.0
    return f"what it rests on is {age:.0f} s old" if age > OLDEST_S else None


@guard("refused")
def evidence(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where it takes something away for what users of the node could have written."""
    root = _root(action, situation)
    if remedy.takes == "nothing" or remedy.about == "node" or root is None or trusted(root):
        return None
    said = ", ".join(untrusted(root)[:3]) or "nothing"
    return f"it rests on {said} alone, and users can write that"


def _root(action: Action, situation: Situation) -> Finding | None:
    name = root_of(action, situation)
    return None if name is None else situation.finding(name)


GUARDS: tuple[Guard, ...] = (cause, standing, unknown, fresh, evidence)
