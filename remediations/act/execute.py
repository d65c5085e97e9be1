"""Do one action: evidence, lease, begin, steps, verification, end; or the way back.

What could not be begun left nothing. What was begun ends in one of four ways: done, failed (nothing
was changed, or there is no way back), rolled_back, or handed_over to a person because nobody knows
what was done. A crash leaves it open; `recover` then goes on where this stopped.
"""

from typing import Any

from remediations.act.hand import Objection
from remediations.act.means import Ended, Lease, Means, Refusal
from remediations.act.plan import packed
from remediations.act.steps import Steps
from remediations.plan.actions import Action, Remedy

# These give the node back: with them the lease ends.
GIVES_BACK = frozenset({"slurm.resume", "kubernetes.uncordon"})
TAKES_AWAY = ("gpu", "node")


async def execute(action: Action, remedy: Remedy, boot_id: str, means: Means) -> Ended:
    """Do it; every way out is written down, and its sentence returned."""
    async with means.actor.attended() as another:
        if another is not None:
            return await _never(action, means, another.why)
        return await _alone(action, remedy, boot_id, means)


async def _alone(action: Action, remedy: Remedy, boot_id: str, means: Means) -> Ended:
    problem = await means.save(action)
    if problem is not None:
        return await _never(action, means, f"the evidence could not be saved: {problem}")
    lease = await _lease(action, remedy, means)
    if isinstance(lease, Refusal):
        return await _never(action, means, lease.why)
    opened = await means.actor.ask("begin", _begin(action, remedy, boot_id, lease))
    if isinstance(opened, Objection):
        await _unused(lease, means)
        return await _never(action, means, opened.why, lease)
    steps = Steps(opened.value["id"], action, means, float(opened.value["deadline_s"]))
    await means.audit.tell(action, "begun", f"{remedy.name} begins", lease.id)
    ended = await steps.forward() or await steps.verified() or await steps.end("done")
    await settle(action, remedy, lease, ended, means)
    return ended


async def settle(action: Action, remedy: Remedy, lease: Lease, ended: Ended, means: Means) -> None:
    """Tell how it ended, and give the lease back where the node is not out by it."""
    if ended.outcome == "open":
        return
    if ended.outcome == "done" and remedy.name in GIVES_BACK:
        for held in means.out_under:
            await means.leases.give_back(held)
    if ended.outcome in ("untouched", "rolled_back") and not lease.held:
        await means.leases.give_back(lease.id)
    await means.audit.tell(action, ended.outcome, ended.reason, lease.id)


async def _lease(action: Action, remedy: Remedy, means: Means) -> Lease | Refusal:
    if remedy.takes not in TAKES_AWAY:
        return Lease("")
    if means.person is not None:
        return Lease(means.person, held=True)
    return await means.leases.ask(action, remedy)


def _begin(action: Action, remedy: Remedy, boot_id: str, lease: Lease) -> dict[str, Any]:
    return {
        "key": action.key,
        "remedy": action.remedy,
        "subject": action.subject,
        "serial": action.serial or "",
        "fault": action.fault,
        "signature": action.signature,
        "boot_id": boot_id,
        "lease": lease.id,
        "deadline_s": int(remedy.deadline_s),
        "plan": packed(action),
    }


async def _unused(lease: Lease, means: Means) -> None:
    if lease.id and not lease.held:
        await means.leases.give_back(lease.id)


async def _never(action: Action, means: Means, why: str, lease: Lease | None = None) -> Ended:
    """Say why it was not begun."""
    await means.audit.tell(action, "untouched", why, lease.id if lease and lease.id else None)
    return Ended("untouched", why)
