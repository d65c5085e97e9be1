"""What would be done about this node now: a walk beside the agent, and who may act upon it."""

import asyncio

import msgspec

from agent.cli.beside import Taken, ages, sources, taken
from agent.cli.local import Refused, Unanswered, ask
from agent.cli.run import SETTINGS, in_turns, open_node
from agent.settings.load import Settings, load
from agent.walk.report import aged, build, stands
from agent.walk.walk import Selection, walk
from collectors.helpers.children import loop
from collectors.node.protocol import Node
from diagnostics.document import Document
from remediations.act.hand import ActorHand, Done, Objection
from remediations.actor import trust
from remediations.plan.actions import Decision, Fleet, KubeNode, Past, Situation
from remediations.plan.decide import decide
from remediations.plan.situation import NOBODY, Acting, situation
from remediations.plan.standing import Standing
from remediations.policy import Policy

DEADLINE_S = 2.0
PAST = ("key", "remedy", "serial", "at", "outcome")


class OfAgent(msgspec.Struct, frozen=True, kw_only=True):
    """What only the agent knows: the fleet's word, and since when what stands."""

    fleet: Fleet | None = None
    kubernetes: KubeNode | None = None
    seen_s: dict[str, float] = {}
    walks: dict[str, int] = {}
    clear_s: float | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Where is asked: the agent's socket, the actor's, the policy; `replay` is a recording."""

    agent: str
    actor: str
    policy: str
    replay: str | None = None
    person: bool = False


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """The diagnosis, what it lets us do, and in `notes` what of this could not be asked."""

    document: Document
    situation: Situation
    decisions: tuple[Decision, ...]
    settings: Settings
    notes: tuple[str, ...] = ()


def planned(asked: Asked) -> Planned:
    """Walk once, and decide; nothing is done."""
    node, settings, logs = open_node(asked.replay, None, load(SETTINGS), ())
    acting, notes = (NOBODY, ()) if asked.replay else _acting(asked)
    given: Taken = {}
    if asked.replay is None:
        in_turns(node, asked.agent)
        given = taken(asked.agent)
    document, standing, now = asyncio.run(walked(node, settings, Selection(), logs, given))
    rests_on = situation(document, standing, acting, now=now)
    return Planned(
        document=document,
        situation=rests_on,
        decisions=decide(rests_on),
        settings=settings,
        notes=notes,
    )


async def walked(
    node: Node,
    settings: Settings,
    selection: Selection,
    logs: tuple[str, ...] = (),
    seen: Taken | None = None,
) -> tuple[Document, Standing, float]:
    """Walk once; return the diagnosis, how the node stands, and when that was."""
    try:
        given, started, began = seen or {}, node.now(), node.monotonic()
        found = await walk(node, settings.wanted(logs), selection, settings.limits, sources(given))
        identity = await node.identity()
        seconds = node.monotonic() - began
        document = build(found, identity, started=started, seconds=seconds, strict=False)
        return aged(document, ages(given)), stands(found), node.now()
    finally:
        await node.close()


def _acting(asked: Asked) -> tuple[Acting, tuple[str, ...]]:
    """Return policy, actor and what the agent knows; in words, what of them is not to be had."""
    policy, refused = _policy(asked.policy)
    state = asyncio.run(ActorHand(asked.actor).ask("state", {}, deadline_s=DEADLINE_S))
    known, silent = _of_agent(asked.agent)
    acting = Acting(
        policy=policy,
        actor=isinstance(state, Done),
        open_action=_open(state),
        history=_history(state),
        person=asked.person,
        **msgspec.structs.asdict(known),
    )
    away = state.why if isinstance(state, Objection) else None
    return acting, tuple(filter(None, (refused, away, silent)))


def _policy(path: str) -> tuple[Policy, str | None]:
    try:
        return trust.policy(path), None
    except loop.Refused as no:
        return Policy(), no.detail


def _of_agent(path: str) -> tuple[OfAgent, str | None]:
    try:
        return msgspec.convert(
            ask({"ask": "acting"}, path=path, deadline_s=DEADLINE_S), OfAgent
        ), None
    except (Unanswered, Refused) as why:
        return OfAgent(), str(why)
    except msgspec.ValidationError as why:
        return OfAgent(), f"the agent's answer cannot be read: {why}"


def _open(state: Done | Objection) -> str | None:
    if isinstance(state, Objection):
        return None
    return next((f"{one['remedy']} of {one['subject']}" for one in state.value["open"]), None)


def _history(state: Done | Objection) -> tuple[Past, ...]:
    """Return what the actor did; what changed nothing does not count."""
    past = state.value["history"] if isinstance(state, Done) else []
    return tuple(
        msgspec.convert({name: one[name] for name in PAST}, Past) for one in past if one["touched"]
    )
