"""What a crash left open is finished, verified or rolled back, and never done a second time.

All that is needed stands in the actor's journal: the plan, each verb that was meant, and what came
of it. A step without an outcome is asked of the node. Where all steps are done, the node is
verified; where some are not, what was done is taken back: the next walk sees the node as it is, and
decides anew.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from remediations.act.execute import settle
from remediations.act.hand import Objection
from remediations.act.means import Ended, Lease, Means
from remediations.act.plan import unpacked
from remediations.act.steps import Steps
from remediations.plan.actions import Action, Remedy, Step

NO_PLAN = "the plan of the action cannot be read"


async def recover(remedies: Mapping[str, Remedy], means: Means) -> list[Ended] | None:
    """Close all that is open; None where the actor does not answer, or another is at it."""
    async with means.actor.attended() as another:
        return None if another is not None else await _all(remedies, means)


async def _all(remedies: Mapping[str, Remedy], means: Means) -> list[Ended] | None:
    state = await means.actor.ask("state", {})
    if isinstance(state, Objection):
        return None
    return [await _one(found, remedies, means) for found in state.value["open"]]


async def _one(found: Mapping[str, Any], remedies: Mapping[str, Remedy], means: Means) -> Ended:
    action, remedy = unpacked(str(found["plan"])), remedies.get(str(found["remedy"]))
    if action is None or remedy is None or action.remedy != found["remedy"]:
        said = {"id": found["id"], "outcome": "handed_over", "said": NO_PLAN}
        await means.actor.ask("end", said)
        return Ended("handed_over", NO_PLAN)
    ended = await _finished(found, action, means)
    # Nobody remembers whether the node was out under this lease before: then it is not given back.
    await settle(action, remedy, Lease(str(found["lease"]), held=True), ended, means)
    return ended


async def _finished(found: Mapping[str, Any], action: Action, means: Means) -> Ended:
    steps = Steps(str(found["id"]), action, means, float(found["left_s"]))
    known = await _known(found["steps"], action, steps)
    if known is None:
        return await steps.end("handed_over", "after a crash nobody knows what was done")
    done, undone = known
    left = Steps(str(found["id"]), action, means, float(found["left_s"]), done)
    if undone or len(done) < len(action.steps):
        return await left.back("it was interrupted", undone)
    return await left.verified() or await left.end("done")


async def _known(
    told: Sequence[Mapping[str, Any]], action: Action, steps: Steps
) -> tuple[list[Step], int] | None:
    """Return the steps that are done and not taken back, and how many were taken back."""
    done: list[Step] = []
    back = 0
    for one in told:
        ahead = action.steps[len(done)] if len(done) < len(action.steps) else None
        undoing = next((s for s in reversed(done) if _is(s.undo, one)), None)
        step = undoing.undo if undoing is not None else ahead
        if step is None or not _is(step, one):
            continue
        ok = one["outcome"]["ok"] if one["outcome"] else await steps.outcome(step, "after a crash")
        if ok is None:
            return None
        if undoing is not None:
            back += 1
            done = [s for s in done if s is not undoing] if ok else done
        elif ok:
            done.append(step)
    return done, back


def _is(step: Step | None, told: Mapping[str, Any]) -> bool:
    return step is not None and step.verb == told["verb"]
