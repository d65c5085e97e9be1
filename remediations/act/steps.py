"""The steps of one open action: forward, back, and what to do where nobody knows.

A step whose outcome is lost is never repeated. The node is asked by the step's own question, for as
long as there is patience; what cannot be known is handed over to a person.
"""

import json
from collections.abc import Sequence
from typing import Any

from remediations.act.hand import Done, Objection
from remediations.act.means import Ended, Means
from remediations.plan.actions import Action, Step

ROUND_S = 2.0
# A checked node is asked again so often while it does not pass yet.
CHECK_S = 15.0
# The way back has its own time: it is let through after the deadline.
BACK_S = 120.0
MOST_WORDS = 400


class Steps:
    """What is done so far of an action that the actor has open."""

    def __init__(
        self, id_: str, action: Action, means: Means, left_s: float, done: Sequence[Step] = ()
    ) -> None:
        self.id = id_
        self._action = action
        self._means = means
        self._until = means.now() + left_s
        self._done = list(done)

    async def forward(self) -> Ended | None:
        """Do the steps that are left; None where all are done."""
        for step in self._action.steps[len(self._done) :]:
            left = self._until - self._means.now()
            if left <= 0:
                return await self.back(f"{step.verb} was not begun in time")
            problem = await self._do(step, left)
            if isinstance(problem, Ended):
                return problem
            if problem is not None:
                return await self.back(f"{step.verb}: {problem}")
            self._done.append(step)
        return None

    async def _do(self, step: Step, seconds: float) -> str | Ended | None:
        """Do one step; return why it was not done, how the action ended by it, or None."""
        answer = await self._ask(step, seconds)
        if isinstance(answer, Done):
            return None
        if not answer.lost:
            return answer.why
        known = await self.outcome(step, answer.why)
        if known is None:
            return await self.end("handed_over", f"nobody knows whether {step.verb} was done")
        return None if known else answer.why

    async def _ask(self, step: Step, seconds: float) -> Done | Objection:
        hand = self._means.hands.get(step.verb.partition("_")[0])
        if hand is None:
            args = {"id": self.id, **step.args}
            return await self._means.actor.ask(step.verb, args, deadline_s=seconds)
        told = {"id": self.id, "verb": step.verb, "args": json.dumps(dict(step.args))}
        meant = await self._means.actor.ask("mean", told)
        if isinstance(meant, Objection):
            return Objection(meant.why)
        answer = await hand.ask(step.verb, step.args, deadline_s=seconds)
        if isinstance(answer, Done) or not answer.lost:
            said = "done" if isinstance(answer, Done) else answer.why
            ok = isinstance(answer, Done)
            await self._settle(int(meant.value["n"]), ok=ok, said=said)
        return answer

    async def outcome(self, step: Step, why: str) -> bool | None:
        """Ask the node whether *step* was done, and write it down; None: nobody can tell."""
        patience = self._means.now() + self._means.patience_s
        while True:
            if (open_ := await self._open()) is not None:
                lost = next((one for one in open_ if one["outcome"] is None), None)
                if lost is None:
                    return _last(open_, step)
                done = await self.asked(step)
                if done is not None and await self._settle(int(lost["n"]), ok=done, said=why):
                    return done
            if self._means.now() >= patience:
                return None
            await self._means.sleep(ROUND_S)

    async def asked(self, step: Step) -> bool | None:
        """Return whether the node says that *step* is done; None where it says nothing."""
        return await self._told(step, step.done)

    async def _told(self, step: Step, question: str | None) -> bool | None:
        if question is None:
            return None
        hand = self._means.hands.get(question.partition("_")[0], self._means.actor)
        answer = await hand.ask(question, step.args)
        told = answer.value if isinstance(answer, Done) else None
        return told if isinstance(told, bool) else None

    async def _settle(self, n: int, *, ok: bool, said: str) -> bool:
        args = {"id": self.id, "n": n, "ok": ok, "said": line(said)}
        return isinstance(await self._means.actor.ask("settle", args), Done)

    async def _open(self) -> list[dict[str, Any]] | None:
        """Return the steps of this action as the actor has them; None where it does not answer."""
        state = await self._means.actor.ask("state", {})
        if isinstance(state, Objection):
            return None
        found = next((one for one in state.value["open"] if one["id"] == self.id), None)
        return None if found is None else list(found["steps"])

    async def verified(self) -> Ended | None:
        """Return None where the node is as it should be within the deadline; else go back."""
        while (problem := await self._against()) is not None:
            if self._means.now() + CHECK_S >= self._until:
                return await self.back(f"the node did not pass: {problem}")
            await self._means.sleep(CHECK_S)
        return None

    async def _against(self) -> str | None:
        for step in self._done:
            question = step.comes or step.done
            if question is not None and (told := await self._told(step, question)) is not True:
                said = "cannot be told" if told is None else "is not so"
                return f"{step.says}: {said}"
        if not self._action.verify:
            return None
        return await self._means.check(self._action.verify)

    async def back(self, why: str, undone: int = 0) -> Ended:
        """Take back what was done, the last first, and end; *undone* steps were before."""
        for step in reversed(self._done):
            if step.undo is None:
                continue
            answer = await self._ask(step.undo, BACK_S)
            if isinstance(answer, Objection):
                return await self.end("handed_over", f"{why}; {step.undo.says}: {answer.why}")
            undone += 1
        if not self._done and not undone:
            return await self.end("failed", why, told="untouched")
        kept = any(step.undo is None for step in self._done)
        return await self.end("failed" if kept else "rolled_back", why)

    async def end(self, outcome: str, why: str = "", told: str | None = None) -> Ended:
        """Close the action; where the actor is away it stays `open`, for `recover`."""
        reason = line(why or f"{self._action.remedy}: verified")
        args = {"id": self.id, "outcome": outcome, "said": reason}
        patience = self._means.now() + self._means.patience_s
        while isinstance(answer := await self._means.actor.ask("end", args), Objection):
            if not _away(answer) or self._means.now() >= patience:
                break
            await self._means.sleep(ROUND_S)
        if isinstance(answer, Objection):
            return Ended("open", f"{reason}; not closed yet: {answer.why}")
        return Ended(told or outcome, reason)


def _away(answer: Objection) -> bool:
    return answer.lost or "no actor" in answer.why


def _last(steps: Sequence[dict[str, Any]], step: Step) -> bool | None:
    """Return what is written of the newest call of this verb."""
    for one in reversed(steps):
        outcome = one["outcome"]
        if one["verb"] == step.verb and isinstance(outcome, dict):
            return bool(outcome["ok"])
    return False


def line(text: str) -> str:
    """Return *text* as one line that the actor takes."""
    return "".join(c if c.isprintable() else " " for c in text)[:MOST_WORDS]


__all__ = ["Steps", "line"]
