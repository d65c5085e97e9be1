"""Decide: propose for each incident, ask every guard, and let one action go first."""

from collections.abc import Iterator

import msgspec

from remediations.plan.actions import Action, Decision, Remedy, Situation
from remediations.plan.catalog import REMEDIES
from remediations.plan.guards import GUARDS

ONE_AT_A_TIME = "another action goes first: {remedy} for {fault}"


def decide(situation: Situation) -> tuple[Decision, ...]:
    """Return a decision on all that is proposed: by incident, gravest first, then in trust's order.

    At most one that has steps acts.
    """
    first: Action | None = None
    decisions: list[Decision] = []
    for remedy, action in proposed(situation):
        decision = judged(action, remedy, situation)
        if decision.verdict == "acts" and action.steps:
            if first is not None:
                reason = ONE_AT_A_TIME.format(remedy=first.remedy, fault=first.fault)
                decision = msgspec.structs.replace(
                    decision, verdict="waits", reason=reason, guard="one_at_a_time"
                )
            else:
                first = action
        decisions.append(decision)
    return tuple(decisions)


def proposed(situation: Situation) -> Iterator[tuple[Remedy, Action]]:
    """Yield all actions that the remedies propose, each with its remedy."""
    about = [row for row in REMEDIES.values() if row.about == "incident"]
    for incident in situation.incidents:
        root = situation.finding(incident.root)
        for remedy in about:
            if (action := remedy.propose(situation, incident, root)) is not None:
                yield remedy, action
    for remedy in REMEDIES.values():
        if remedy.about == "node" and (action := remedy.propose(situation, None, None)) is not None:
            yield remedy, action


def judged(action: Action, remedy: Remedy, situation: Situation) -> Decision:
    """Return what the guards make of one action: the first objection is the one that is said."""
    for guard in GUARDS:
        said = guard.objects(action, remedy, situation)
        if said is not None:
            return Decision(action=action, verdict=guard.verdict, reason=said, guard=guard.name)
    return Decision(action=action, verdict="acts", reason="no guard objects")
