"""The gate: nothing is done but for an open action, within policy, and written down before.

`begin` asks the policy, the kernel's boot id, the cool-downs and the ladder of the actor's own
journal; each verb is then refused unless its action is open, in time, and of a remedy that may use
it. What a caller says is checked and kept, and never believed where the node can be asked.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from collectors.helpers.children.loop import Refused, Verbs
from remediations.actor import clock, counts, trust
from remediations.actor.duties import duties
from remediations.actor.journal import Acted, Journal, Line
from remediations.actor.registry import KEEPERS, QUESTIONS, VERBS, Kept, Turn, Verb, arguments
from remediations.actor.rows import ROWS
from remediations.actor.typed import MOST_TEXT, plain, typed
from remediations.policy import PATH, Policy

PRODUCT = "gpudiag actor 0.1.0"
MOST_STEPS = 24
MOST_PLAN = 8000
OUTCOMES = ("done", "failed", "rolled_back", "handed_over")
CAP = "gpu.power_cap"
TAKEN = ("gpu", "node")
# Of each one step at a time: a cap is moved beside whatever else is done.
LANES = ("act", "cap")
# What the agent itself takes back at the API server.
UNDOING = frozenset({"kubernetes_uncordon", "kubernetes_untaint"})


class Gate:
    """What one caller may ask; *uid* is the peer's as the kernel says it."""

    def __init__(self, folder: Path, uid: int, policy: str = PATH) -> None:
        self._folder = folder
        self._uid = uid
        self._policy = policy
        # Held until the session's own process ends.
        self._attending = ExitStack()
        self._journal = Journal(folder)

    def verbs(self) -> Verbs:
        """Return all that can be asked, each with the types of its arguments."""
        own: dict[str, Any] = {
            "state": self.state,
            "begin": self.begin,
            "end": self.end,
            "settle": self.settle,
        }
        own |= {"mean": self.mean, "attend": self.attend}
        asked = {name: partial(call, self._folder) for name, call in QUESTIONS.items()}
        kept = {name: partial(self._keep, verb) for name, verb in KEEPERS.items()}
        steps = {name: partial(self._step, name, verb) for name, verb in VERBS.items()}
        hints = {name: arguments(call) for name, call in QUESTIONS.items()}
        hints |= {name: arguments(verb.call) for name, verb in KEEPERS.items()}
        hints |= {name: {"id": str} | arguments(verb.call) for name, verb in VERBS.items()}
        every = asked | kept | steps
        return {**own, **{name: typed(call, hints[name]) for name, call in every.items()}}

    def state(self) -> Line:
        """Return what is allowed, what is open, and what was done in seven days."""
        acted = self._journal.actions().values()
        try:
            mode, problem = dict(trust.policy(self._policy).mode), None
        except Refused as no:
            mode, problem = {}, no.detail
        return {
            "product": PRODUCT,
            "boot_id": clock.boot_id(),
            "mode": mode,
            "problem": problem,
            "open": [counts.whole(one) for one in acted if one.end is None],
            "history": [counts.brief(one) for one in counts.recent(acted, time.time())],
        }

    def begin(  # noqa: PLR0913 - the facts of one action, each typed on the wire
        self,
        *,
        key: str,
        remedy: str,
        subject: str,
        serial: str,
        fault: str,
        signature: str,
        boot_id: str,
        lease: str,
        deadline_s: int,
        plan: str,
    ) -> Line:
        """Open an action; Refused with a sentence where anything speaks against it.

        *plan* is the caller's own, kept for whoever has to finish it after a crash, and not read.
        """
        said = {"key": key, "remedy": remedy, "subject": subject, "serial": serial, "fault": fault}
        said |= {"signature": signature, "boot_id": boot_id, "lease": lease}
        plain(said)
        plain({"plan": plan}, MOST_PLAN)
        self._allowed(remedy)
        if boot_id != clock.boot_id():
            raise Refused("denied", "the boot id is not this boot's: look again, then ask again")
        self._leased(remedy, lease)
        if ROWS[remedy].takes in TAKEN and (others := duties()):
            raise Refused("denied", f"this node is needed by others: {', '.join(others)}")
        with self._journal.locked("begin"):
            if objection := counts.objection(self._journal.actions(), said, time.time()):
                raise Refused("denied", objection)
            self._journal.rotate(partial(counts.kept, now=time.time()))
            row = ROWS[remedy]
            seconds = max(1.0, min(float(deadline_s), row.deadline_s))
            line = {"kind": "begin", "id": clock.token(), **said, "deadline_s": seconds}
            self._write(line | {"plan": plan, "uid": self._uid, **clock.stamp()})
        return {"id": line["id"], "deadline_s": seconds}

    def attend(self) -> Line:
        """Let this caller alone execute or recover, until it hangs up or ends.

        So a person at the keyboard and the agent never finish one action from two sides.
        """
        held = self._journal.locked("attend", wait=False)
        if not self._attending.enter_context(held):
            raise Refused("denied", "another process acts on this node right now")
        return {"attended": True}

    def end(self, id: str, outcome: str, said: str) -> Line:  # noqa: A002 - the wire's word
        """Close an action: done, failed, rolled_back, or handed_over to a person."""
        plain({"said": said})
        if outcome not in OUTCOMES:
            raise Refused("denied", f"an outcome is one of {', '.join(OUTCOMES)}")
        with self._turn(self._open(id)):
            if outcome != "handed_over":
                _settled(self._open(id))
            line = {"kind": "end", "id": id, "outcome": outcome, "said": said}
            self._write(line | clock.stamp())
        return {"outcome": outcome}

    def settle(self, id: str, n: int, ok: bool, said: str) -> Line:  # noqa: A002, FBT001 - the wire's words
        """Write the outcome of a step whose own was lost, after the node was asked for it."""
        plain({"said": said})
        with self._turn(self._open(id)):
            acted = self._open(id)
            if all(step.n != n or step.outcome is not None for step in acted.steps):
                raise Refused("denied", f"step {n} has its outcome, or is none")
            self._outcome(id, n, ok=ok, said=said)
        return {"settled": n}

    def mean(self, id: str, verb: str, args: str) -> Line:  # noqa: A002 - the wire's word
        """Write down a step that the caller does by rights of its own, before it does it.

        The API server of Kubernetes is asked by the agent, which has an account there; root is of
        no use for it. `settle` writes the outcome.
        """
        plain({"verb": verb, "args": args})
        acted = self._open(id)
        if not verb.startswith("kubernetes_") or not acted.begin["remedy"].startswith("kubernetes"):
            raise Refused("denied", f"{verb:.80} is not done by the caller")
        with self._turn(acted):
            self._check(acted, undoes=verb in UNDOING)
            n = len(acted.steps) + 1
            self._intend(id, n, verb, {"args": args})
        return {"n": n}

    def _step(self, name: str, verb: Verb, /, id: str, **args: Any) -> Line:  # noqa: A002, ANN401 - JSON
        acted = self._open(id)
        remedy = acted.begin["remedy"]
        if remedy not in verb.remedies:
            raise Refused("denied", f"{remedy} may not use {name}")
        with self._turn(acted):
            acted = self._open(id)
            undone = verb.undoes.get(remedy)
            if undone is not None and not acted.did(undone, args):
                raise Refused("denied", f"{name} takes back {undone}, which was not done so here")
            policy = self._check(acted, undoes=undone is not None)
            n = len(acted.steps) + 1
            turn = Turn(
                id,
                remedy,
                acted.begin["subject"],
                policy,
                self._folder,
                self._uid,
                counts.left_s(acted),
            )
            self._intend(id, n, name, args)
            return self._done(id, n, lambda: verb.call(turn, **args))

    def _done(self, id: str, n: int, call: Callable[[], Any]) -> Line:  # noqa: A002 - the wire's word
        """Do it, and write down what came of it, whatever that is."""
        try:
            said = call()
        except Refused as no:
            self._outcome(id, n, ok=False, said=no.detail)
            raise
        except Exception as problem:
            self._outcome(id, n, ok=False, said=repr(problem), unsure=True)
            raise
        self._outcome(id, n, ok=True, said=str(said))
        return {"n": n, "said": said}

    def _keep(self, verb: Verb, /, **args: Any) -> Any:  # noqa: ANN401 - JSON
        (remedy,) = verb.remedies
        return verb.call(Kept(self._folder, self._allowed(remedy)), **args)

    def _allowed(self, remedy: str) -> Policy:
        if remedy not in ROWS:
            raise Refused("denied", f"there is no remedy {remedy:.80}")
        policy = trust.policy(self._policy)
        if policy.of(remedy) != "act":
            where = policy.path or self._policy
            raise Refused("denied", f"{remedy} is in {policy.of(remedy)}, not act, in {where}")
        if not policy.proved(remedy):
            raise Refused("denied", f"{remedy} is not proved, and allow_unproved does not name it")
        return policy

    def _leased(self, remedy: str, lease: str) -> None:
        if lease.startswith("person:") and self._uid != 0:
            raise Refused("denied", "only root acts without a lease")
        if ROWS[remedy].takes in TAKEN and not lease:
            raise Refused("denied", f"{remedy} takes something away: no lease, no act")

    def _open(self, id: str) -> Acted:  # noqa: A002 - the wire's word
        acted = self._journal.actions().get(id)
        if acted is None or acted.end is not None:
            raise Refused("denied", f"no open action is called {id:.40}")
        return acted

    @contextmanager
    def _turn(self, acted: Acted) -> Iterator[None]:
        """Hold the action's lock: of each kind one step at a time, whoever asks."""
        lane = LANES[acted.begin["remedy"] == CAP]
        with self._journal.locked(lane, wait=False) as held:
            if not held:
                raise Refused("denied", "a step is being done: wait for it")
            yield

    def _check(self, acted: Acted, *, undoes: bool) -> Policy:
        """Return the policy; what undoes may come late, and after the site has changed its mind."""
        if len(acted.steps) >= MOST_STEPS:
            raise Refused("denied", f"an action has at most {MOST_STEPS} steps")
        _settled(acted)
        if undoes:
            return trust.policy(self._policy)
        if counts.left_s(acted) <= 0:
            raise Refused("denied", "the action is over its deadline: undo it or end it")
        return self._allowed(acted.begin["remedy"])

    def _write(self, line: Line) -> None:
        """Have it on the disk, and in the unit's log for whoever reads that."""
        self._journal.write(line)
        what = line.get("remedy") or line.get("verb") or line.get("outcome") or line.get("ok")
        said = str(line.get("said") or line.get("subject") or "")
        sys.stderr.write(f"{line['kind']} {line['id']} uid={self._uid} {what} {said:.200}\n")

    def _intend(self, id: str, n: int, verb: str, args: Mapping[str, Any]) -> None:  # noqa: A002 - the wire's word
        line = {"kind": "intent", "id": id, "n": n, "verb": verb, "args": dict(args)}
        self._write(line | clock.stamp())

    def _outcome(self, id: str, n: int, *, ok: bool, said: str, unsure: bool = False) -> None:  # noqa: A002 - the wire's word
        line = {"kind": "outcome", "id": id, "n": n, "ok": ok, "said": said[:MOST_TEXT]}
        self._write(line | clock.stamp() | ({"unsure": True} if unsure else {}))


def _settled(acted: Acted) -> None:
    for step in acted.steps:
        if step.outcome is None:
            raise Refused("denied", f"step {step.n} ({step.verb}) has no outcome: settle it first")
