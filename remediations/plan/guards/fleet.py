"""What the aggregator says; a lease itself is asked for last, by whoever carries the action out."""

from remediations.plan.actions import Action, Remedy, Situation
from remediations.plan.guards.guard import Guard, guard, takes_away

# It is heard with each heartbeat, every 30 s.
SILENT_S = 120.0


@guard("waits")
def paused(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object while an operator has paused all acting."""
    del remedy
    stopped = action.steps and situation.fleet is not None and situation.fleet.paused
    return "all acting is paused by an operator" if stopped else None


@guard("advised")
def silent(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where no aggregator says how many nodes are out already."""
    del action
    if not takes_away(remedy) or situation.person:
        return None
    if situation.fleet is None:
        return "no aggregator was heard, and without a lease nothing is taken away"
    ago = situation.fleet.heard_s_ago
    return None if ago <= SILENT_S else f"the aggregator was not heard for {ago:.0f} s"


@guard("refused")
def fleet_wide(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where the aggregator did: one cause behind many nodes, a breaker, a budget."""
    del action
    if not takes_away(remedy) or situation.fleet is None:
        return None
    return situation.fleet.objection


GUARDS: tuple[Guard, ...] = (paused, silent, fleet_wide)
