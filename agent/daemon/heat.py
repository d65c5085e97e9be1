"""Heat: looks at each GPU every 30 s, and lets the actor lower or restore its power limit.

What to do is decided by `remediations.heat.throttle`, what may be done by the actor. It needs no
lease of the aggregator and heeds no mass guard: it takes nothing away, and a hot room is where it
is needed most.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from agent.daemon.bmc_redfish import ByRedfish
from agent.daemon.log import Log
from collectors.bmc.sensors import BmcSensors
from collectors.catalog import Source
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu.caps import HandedOver, PowerCaps
from collectors.gpu.health import GpuHealth
from collectors.node.protocol import Node
from remediations.act.hand import Done, Hand, Objection
from remediations.heat import causes, lease, seen
from remediations.heat.throttle import Held, Order, Pace, Seen, State, step
from remediations.policy import PATH, Policy, PolicyError, parse

REMEDY = "gpu.power_cap"
# The BMC's own limit, by the names that the actor gives it.
BY_BMC = ("dcmi", "redfish")
# Renewed while so much of it is left, so that a few lost questions do no harm.
RENEW_AT = 0.8
# The BMC is read by Redfish at each second look: as often as by IPMI.
READ_EACH = 2
# DCMI takes five runs of ipmitool, Redfish four answers.
CAP_S, NODE_S, ASK_S = 15.0, 60.0, 5.0

# A rehearsal has another one.
PACE = Pace()

# The actor's verb, its arguments, and how long it may take.
Asked = tuple[str, dict[str, Any], float]
Newest = Callable[[type[Observation]], Observation | Missing]


class On(NamedTuple):
    """A cap that is on, what is left of its lease, and the unit of its limit."""

    cap: Held
    left_s: float
    unit: str


class Heat:
    """The caps of one node: what is remembered of each GPU, and who has to look at it."""

    def __init__(self, node: Node, newest: Newest, hand: Hand, log: Log, pace: Pace) -> None:
        self._node = node
        self._newest = newest
        self._hand = hand
        self._log = log
        self._pace = pace
        self._redfish = ByRedfish(hand, READ_EACH * pace.sample_s)
        self._states: dict[str, State] = {}
        self._said: dict[str, str] = {}
        self.handed_over: dict[str, HandedOver] = {}

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self._node.sleep(self._pace.sample_s)
            await self.once()

    async def once(self) -> None:
        """Look once, and do what is to be done."""
        policy = await self._policy()
        mode = policy.of(REMEDY)
        if mode == "observe":
            self._states.clear()
            self.handed_over.clear()
            return
        held = await self._held() if mode == "act" else {}
        acting = mode == "act" and held is not None
        if not acting:
            # Whom nothing is asked of is told of heat by the checks alone.
            self.handed_over.clear()
        seen_now = await self._seen(by_redfish=acting and policy.heat.redfish)
        why = "; ".join(one.says for one in causes.reasons(*seen_now))
        asked: list[Coroutine[Any, Any, None]] = []
        for name, said in self._samples(held or {}, policy, *seen_now):
            state, order = step(self._states.get(name, State()), said, self._pace)
            self._states[name] = state
            if acting:
                self._told(name, state, order, why)
            if order.kind != "keep":
                clocks = _by_clocks((held or {}).get(name), policy)
                verb = _asked(name, said, order, clocks=clocks)
                asked.append(self._carry_out(name, order, verb, why, acting=acting))
        # At once: a driver that hangs on one GPU holds up no other.
        await asyncio.gather(*asked)
        if acting and held:
            await self._renew(held)

    async def _policy(self) -> Policy:
        files = await self._node.files(PATH)
        text = None if isinstance(files, Missing) else files.get(PATH)
        try:
            return Policy() if text is None else parse(text, PATH)
        except PolicyError as problem:
            self._once("policy", "acting_policy_wrong", why=f"{problem}: {problem.hint}")
            return Policy()

    async def _held(self) -> dict[str, On] | None:
        """Return the caps that are on; None where no actor answers."""
        answer = await self._hand.ask("caps", {}, deadline_s=ASK_S)
        if isinstance(answer, Objection):
            self._once("actor", "heat_without_actor", why=answer.why)
            return None
        self._said.pop("actor", None)
        return {one["subject"]: _on(one) for one in answer.value["held"]}

    async def _seen(self, *, by_redfish: bool) -> tuple[BmcSensors | Missing, GpuHealth | Missing]:
        """Return what the BMC tells, by IPMI or Redfish, and what the driver does."""
        sensors, health = self._newest(BmcSensors), self._newest(GpuHealth)
        assert isinstance(sensors, BmcSensors | Missing)
        assert isinstance(health, GpuHealth | Missing)
        other = await self._redfish.newest(self._node.monotonic()) if by_redfish else None
        return causes.joined(sensors, other), health

    def _samples(
        self,
        held: Mapping[str, On],
        policy: Policy,
        sensors: BmcSensors | Missing,
        health: GpuHealth | Missing,
    ) -> Iterator[tuple[str, Seen]]:
        """Yield what is seen of each GPU, of those with a cap that say nothing, and of the node."""
        bmc, lost = causes.word(sensors, health), causes.supply_lost(sensors)
        now = self._node.monotonic()
        gpus = {} if isinstance(health, Missing) else {g.pci: g for g in health.answering()}
        caps = {name: one.cap for name, one in held.items()}
        told = {
            pci: seen.of_gpu(
                now,
                gpu,
                caps.get(pci),
                bmc,
                supply_lost=lost,
                standing=policy.heat.standing_mw(gpu.name),
            )
            for pci, gpu in gpus.items()
            if pci is not None
        }
        for pci, said in [*told.items()]:
            if _by_clocks(held.get(pci), policy):
                told[pci] = seen.by_clocks(said, gpus[pci])
        silent = [name for name in (*caps, *self._states) if name not in (*told, *BY_BMC)]
        for name in dict.fromkeys(silent):
            told[name] = Seen(at_s=now, held=caps.get(name), bmc=bmc, supply_lost=lost)
        yield from told.items()
        if by := _of_node(policy, caps):
            yield by, seen.of_node(now, [*told.values()], _share(caps.get(by)), bmc, lost)

    def _told(self, name: str, state: State, order: Order, cause: str) -> None:
        """Say once that a person has it, with the cause of the heat, and forget it when over."""
        if order.page:
            before = self.handed_over.get(name)
            since = before.since if before is not None else self._node.now()
            person = HandedOver(subject=name, phase=state.phase, why=order.why, since=since)
            self.handed_over[name] = person
            if self._new(f"page {name}", order.why):
                facts = {"subject": name, "why": order.why, "cause": cause}
                self._log.warning("heat_needs_person", **facts)
        elif order.kind != "keep" or state.phase in ("watching", "capped"):
            self.handed_over.pop(name, None)
            self._said.pop(f"page {name}", None)

    async def _carry_out(
        self, name: str, order: Order, asked: Asked, cause: str, *, acting: bool
    ) -> None:
        if not acting:
            self._log.info("heat_advised", subject=name, limit=order.limit, why=order.why)
            return
        why = f"{order.why}; {cause}" if order.kind == "down" else order.why
        verb, args, seconds = asked
        answer = await self._hand.ask(verb, {**args, "why": _line(why)}, deadline_s=seconds)
        if isinstance(answer, Done):
            self._log.warning("heat_limit_set", subject=name, order=order.kind, why=why, **args)
        else:
            self._log.warning("heat_limit_not_set", subject=name, why=answer.why)

    async def _renew(self, held: Mapping[str, On]) -> None:
        lent = lease.LEASE_S * self._pace.sample_s / Pace().sample_s
        if min(one.left_s for one in held.values()) < RENEW_AT * lent:
            answer = await self._hand.ask("renew_caps", {}, deadline_s=ASK_S)
            if isinstance(answer, Objection):
                self._log.warning("heat_not_renewed", why=answer.why)

    def _once(self, key: str, event: str, **facts: str) -> None:
        """Say it where it was not said before in the same words."""
        if self._new(key, str(facts)):
            self._log.warning(event, **facts)

    def _new(self, key: str, words: str) -> bool:
        new = self._said.get(key) != words
        self._said[key] = words
        return new

    def behind(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Return the sources, of which the one of caps tells who is in a person's hands, too."""

        def behind(one: Source) -> Source:
            if one.shape is not PowerCaps:
                return one

            async def collect(node: Node, wanted: Wanted) -> Observation | Missing:
                told = await one.collect(node, wanted)
                return self._with_people(told) if isinstance(told, PowerCaps) else told

            return msgspec.structs.replace(one, collect=collect)

        return tuple(map(behind, sources))

    def _with_people(self, told: PowerCaps) -> PowerCaps:
        return msgspec.structs.replace(told, handed_over=tuple(self.handed_over.values()))


def _on(one: Mapping[str, Any]) -> On:
    cap = Held(
        limit=int(one["limit"]),
        before=int(one["before"]),
        stepped_s_ago=float(one["stepped_s_ago"]),
    )
    return On(cap, float(one["left_s"]), str(one["unit"]))


def _by_clocks(on: On | None, policy: Policy) -> bool:
    """Return whether a GPU is held by its clocks: as it is now, else as the site says."""
    return policy.heat.locked_clocks if on is None else on.unit == "MHz"


def _of_node(policy: Policy, caps: Mapping[str, Held]) -> str | None:
    """Return by what name the node is capped, where it is or may be."""
    on = next((name for name in BY_BMC if name in caps), None)
    wanted = "redfish" if policy.heat.redfish else "dcmi" if policy.heat.dcmi else None
    return on or wanted


def _share(held: Held | None) -> Held | None:
    """Return the node's cap in thousandths of what it drew, in whole steps."""
    if held is None:
        return None
    steps = round(10 - 10 * held.limit / held.before) if held.before else 0
    limit = seen.WHOLE - steps * lease.step(seen.WHOLE)
    return Held(limit=limit, before=seen.WHOLE, stepped_s_ago=held.stepped_s_ago)


def _asked(name: str, said: Seen, order: Order, *, clocks: bool) -> Asked:
    """Return the actor's verb, its arguments, and how long it may take."""
    before = said.held.before if said.held else 0
    limit = before if order.limit is None else order.limit
    if name in BY_BMC:
        steps = (seen.WHOLE - limit) // lease.step(seen.WHOLE)
        return "cap_node", {"steps": steps}, NODE_S
    if clocks:
        return "cap_clocks", {"gpu": name, "limit_mhz": limit}, CAP_S
    return "cap_gpu", {"gpu": name, "limit_mw": limit}, CAP_S


def _line(text: str) -> str:
    """Return text as the actor takes it: one printable line of bounded length."""
    return "".join(c if c.isprintable() else "?" for c in text)[:480]
