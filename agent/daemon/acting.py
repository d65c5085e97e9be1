"""Acting: after each walk what was decided is done, one action at a time, by the actor alone.

Without an actor, or without a policy of root's, nothing is done, and the plan says so. At start,
and whenever the actor has one open, an action is finished first.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from agent.bundle import SHAPES, parts
from agent.daemon.checking import Checking
from agent.daemon.cluster import Cluster, OfNode
from agent.daemon.log import Log
from agent.daemon.parts import Parts
from agent.daemon.walker import Walk
from agent.outbox.worker import Worker
from collectors.facts.observation import Missing, Observation
from collectors.helpers.children.loop import Refused
from collectors.node.protocol import Node
from diagnostics.document import Document
from remediations.act.audit import Send, Trail
from remediations.act.evidence import Bundles
from remediations.act.execute import execute
from remediations.act.hand import Actor, ActorHand, Done, Hand, Objection
from remediations.act.means import Ended, Lease, Leases, Means, Refusal
from remediations.act.recover import recover
from remediations.actor import trust
from remediations.plan.actions import Action, Decision, Fleet, Past, Remedy, Situation
from remediations.plan.catalog import REMEDIES
from remediations.plan.decide import decide
from remediations.plan.scheduler import ours
from remediations.plan.situation import Acting, situation
from remediations.policy import PATH, Policy

LEASE_S = 600.0
# What the fleet or the actor refused is not asked for with each walk.
AGAIN_S = 300.0
Newest = Callable[[type[Observation]], Observation | Missing]


class NoFleet:
    """Stands where no aggregator is named: nobody gives leave."""

    async def ask(self, action: Action, remedy: Remedy) -> Lease | Refusal:
        """Refuse."""
        del action, remedy
        return Refusal("no aggregator is named, and without a lease nothing is taken away")

    async def give_back(self, lease: str) -> None:
        """Do nothing."""

    async def renew(self, remedy: str) -> None:
        """Do nothing."""


class Staying(Leases, Protocol):
    """Leases that outlive their action: the node is out for as long as it is not mended."""

    async def renew(self, remedy: str) -> None:
        """Have the lease under which the node is out hold for longer; what fails comes again."""
        ...


class Heard(Protocol):
    """What is known of the aggregator."""

    def __call__(self) -> Fleet | None:
        """Return it; None where none is named, or none was heard yet."""
        ...


class Remedying:
    """The service; `now` is what the next walk's plan rests on."""

    def __init__(  # noqa: PLR0913 - each is a part of the world that a test stands in for
        self,
        node: Node,
        hand: Actor,
        folder: Path,
        log: Log,
        newest: Newest,
        *,
        leases: Staying | None = None,
        send: Send | None = None,
        heard: Heard = lambda: None,
        policy: str = PATH,
        rehearsal: bool = False,
        hands: Mapping[str, Hand] | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self._node, self._hand, self._log, self._newest = node, hand, log, newest
        self._leases: Staying = leases or NoFleet()
        self._heard = heard
        self._path = policy
        self._rehearsal = rehearsal
        self._cluster = cluster
        self._hands = hands or ({} if cluster is None else {"kubernetes": cluster})
        self._worker = Worker("acting")
        self._bundles = Bundles(folder / "bundles")
        self._trail = Trail(folder, self._name, self._worker.ask, send)
        self._walked = asyncio.Event()
        self._walk: Walk | None = None
        self._since: dict[str, tuple[float, int]] = {}
        self._clear_since: float | None = None
        self._asked_at = float("-inf")
        self._tried: dict[str, float] = {}
        self._out_under: tuple[str, ...] = ()
        self.now = Acting(rehearsal=rehearsal)
        self.problem: str | None = None

    def _name(self) -> str:
        return (self._walk.document.node if self._walk else None) or "unknown"

    def walked(self, walk: Walk) -> None:
        """Take a finished walk; returns at once."""
        self._walk = walk
        names = {incident.fingerprint for incident in walk.document.incidents}
        at = walk.ended
        known = {name: self._since.get(name, (at, 0)) for name in names}
        self._since = {name: (since, walks + 1) for name, (since, walks) in known.items()}
        if names:
            self._clear_since = None
        elif self._clear_since is None:
            self._clear_since = at
        self._walked.set()

    async def run(self) -> None:
        """Decide after each walk, and do what acts, for ever."""
        while True:
            await self._walked.wait()
            self._walked.clear()
            await self.round()

    async def round(self) -> Ended | None:
        """Look at policy, actor and fleet; finish what is open, or do the one thing that acts."""
        state = await self._look()
        if self._walk is None:
            return None
        if self._cluster is not None:
            await self._cluster.tell(decide(self._situation(self._walk)))
        if state is None:
            return None
        if state["open"]:
            for ended in await recover(REMEDIES, self._means()) or []:
                self._log.warning("action_finished", outcome=ended.outcome, said=ended.reason)
            return None
        rests_on = self._situation(self._walk)
        await self._stay_out(rests_on)
        ready = (one for one in decide(rests_on) if _acts(one) and self._again(one.action))
        decided = next(ready, None)
        return None if decided is None else await self._act(decided.action, rests_on)

    async def _stay_out(self, rests_on: Situation) -> None:
        """Ask anew, now and then, for the lease under which this node is out by us."""
        slurm, kube = rests_on.slurm, rests_on.kubernetes
        out = (slurm is not None and ours(slurm)) or (kube is not None and kube.ours)
        at = self._node.monotonic()
        if not out or not self._out_under or at - self._asked_at < LEASE_S:
            return
        self._asked_at = at
        await self._leases.renew("slurm.drain" if kube is None else "kubernetes.cordon")

    async def _act(self, action: Action, rests_on: Situation) -> Ended:
        self._log.warning("action", remedy=action.remedy, subject=action.subject)
        remedy = REMEDIES[action.remedy]
        ended = await execute(action, remedy, rests_on.boot_id or "", self._means())
        self._tried = {action.key: self._node.monotonic() + AGAIN_S}
        said = {"remedy": action.remedy, "outcome": ended.outcome, "said": ended.reason}
        self._log.warning("action_ended", **said)
        # What was walked over meanwhile is the node half way.
        self._walked.clear()
        return ended

    def _again(self, action: Action) -> bool:
        """Return whether it may be tried again: a refusal stands for a while."""
        return self._node.monotonic() >= self._tried.get(action.key, float("-inf"))

    async def _look(self) -> dict[str, Any] | None:
        """Ask policy and actor anew; return the actor's state, None where there is none."""
        try:
            policy = await self._worker.ask(lambda: trust.policy(self._path))
            self.problem = None
        except Refused as no:
            policy, self.problem = Policy(), no.detail
        answer = await self._hand.ask("state", {})
        state: dict[str, Any] | None = answer.value if isinstance(answer, Done) else None
        if isinstance(answer, Objection) and any(mode == "act" for mode in policy.mode.values()):
            self.problem = answer.why
        self._out_under = _leases(state)
        at = self._node.monotonic()
        self.now = Acting(
            policy=policy,
            actor=state is not None,
            open_action=_open(state),
            history=_history(state),
            fleet=self._heard(),
            kubernetes=await self._cluster.look() if self._cluster is not None else None,
            seen_s={name: at - since for name, (since, _) in self._since.items()},
            walks={name: walks for name, (_, walks) in self._since.items()},
            clear_s=None if self._clear_since is None else at - self._clear_since,
            rehearsal=self._rehearsal,
        )
        return state

    def _situation(self, walk: Walk) -> Situation:
        return situation(walk.document, walk.standing, self.now, now=self._node.now())

    def _means(self) -> Means:
        checking = Checking(self._node.monotonic, lambda: self._walk)
        return Means(
            actor=self._hand,
            leases=self._leases,
            audit=self._trail,
            save=self._save,
            check=checking.against,
            sleep=self._node.sleep,
            now=self._node.monotonic,
            hands=self._hands,
            out_under=self._out_under,
        )

    async def _save(self, action: Action) -> str | None:
        """Save what the last walk and the newest observations say of its incident."""
        walk = self._walk
        found = _incident(walk.document, action) if walk else None
        if walk is None or found is None:
            return None if action.incident is None else "its incident is over"
        seen = [self._newest(shape) for shape in SHAPES]
        name = f"{action.incident}-{action.remedy.replace('.', '-')}"
        try:
            whole = list(parts(walk.document, found, seen))
            await self._worker.ask(lambda: self._bundles.save(name, whole))
        except OSError as problem:
            return str(problem.strerror or problem)
        return None

    def close(self) -> None:
        """Let go of the thread; what is open is finished by the next start."""
        self._worker.end()


def remedying(parts: Parts, newest: Newest) -> Remedying:
    """Return the service of a daemon that is made of *parts*."""
    fleet = parts.reporting.fleet() if parts.reporting is not None else None
    kubernetes = parts.settings.kubernetes
    return Remedying(
        parts.node,
        ActorHand(parts.actor),
        parts.keeping.folder,
        parts.log,
        newest,
        leases=fleet,
        send=fleet.tell if fleet is not None else None,
        heard=parts.reporting.heard if parts.reporting is not None else lambda: None,
        cluster=OfNode(kubernetes, Worker("kubernetes").ask) if kubernetes.api else None,
    )


def _acts(decision: Decision) -> bool:
    return decision.verdict == "acts" and bool(decision.action.steps)


def _incident(document: Document, action: Action) -> Any:  # noqa: ANN401 - Incident or None
    return next((one for one in document.incidents if one.fingerprint == action.incident), None)


def _open(state: Mapping[str, Any] | None) -> str | None:
    return next((f"{one['remedy']}" for one in state["open"]), None) if state else None


def _history(state: Mapping[str, Any] | None) -> tuple[Past, ...]:
    """Return what the actor did; what changed nothing does not count against another try."""
    past = [one for one in state["history"] if one["touched"]] if state else []
    return tuple(msgspec.convert({k: one[k] for k in KEPT}, Past) for one in past)


def _leases(state: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the leases under which something was done in the last days; each is there once."""
    found = [one["lease"] for one in state["history"] if one["touched"]] if state else []
    return tuple(dict.fromkeys(lease for lease in found if lease))


KEPT = ("key", "remedy", "serial", "at", "outcome")
