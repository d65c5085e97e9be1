"""Whether it was done before, and how lately or how often."""

from remediations.plan import ladder
from remediations.plan.actions import Action, Remedy, Situation
from remediations.plan.catalog import COUNTED
from remediations.plan.guards.guard import Guard, guard

# What is seen once may be gone in the next walk.
LEAST_WALKS = 2
LEAST_S = 60.0
# What was repaired shows within this whether it is; remediation counts ten minutes without a line.
CLEAR_S = 600.0


@guard("waits")
def settled(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where the incident has not stood for two walks and a minute."""
    if remedy.about == "node" or remedy.takes == "nothing" or situation.person:
        return None
    name = action.incident or ""
    walks, seconds = situation.walks.get(name, 0), situation.seen_s.get(name, 0.0)
    if walks >= LEAST_WALKS and seconds >= LEAST_S:
        return None
    return f"it was seen in {walks} walks over {seconds:.0f} s; two over {LEAST_S:.0f} s are needed"


@guard("waits")
def cleared(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where a node is given back before it was well for a while."""
    del action
    clear = situation.clear_s
    if remedy.about == "incident" or (clear is not None and clear >= CLEAR_S):
        return None
    known = "it is not known since when" if clear is None else f"only for {clear:.0f} s"
    return f"{known} nothing is wrong; {CLEAR_S / 60:.0f} min are needed"


@guard("refused")
def repeated(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where just this was done in this boot, and the incident is still there."""
    if remedy.takes == "nothing" or all(past.key != action.key for past in situation.history):
        return None
    return "it was done in this boot, and the fault is still there: a person has to look"


@guard("waits")
def single(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object while another action is open on this node."""
    del remedy
    open_ = situation.open_action
    waits = action.steps and open_ is not None
    return f"another action is not finished: {open_}" if waits else None


@guard("waits")
def cooldown(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where the same remedy was done a short while ago."""
    if not action.steps:
        return None
    ago = (situation.now - past.at for past in situation.history if past.remedy == remedy.name)
    left = remedy.cooldown_s - min(ago, default=remedy.cooldown_s)
    return (
        None if left <= 0 else f"{remedy.name} was done lately: not again for {left / 60:.0f} min"
    )


@guard("refused")
def too_often(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where the node or the part was repaired too often."""
    said = ladder.objection(remedy.name, action.serial, situation.history, situation.now, COUNTED)
    return None if said is None else f"{said}: a person has to look"


GUARDS: tuple[Guard, ...] = (settled, cleared, repeated, single, cooldown, too_often)
