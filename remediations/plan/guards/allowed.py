"""Whether the site lets the remedy act at all."""

from remediations.plan.actions import Action, Remedy, Situation
from remediations.plan.guards.guard import Guard, guard
from remediations.policy import PATH

NO_ACTOR = "no actor answers here: gpudiag-actor is not installed, or not for this user"


@guard("observed")
def observe(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where the site only wants it seen."""
    del action
    where = situation.policy.path or PATH
    quiet = situation.policy.of(remedy.name) == "observe"
    return f"{remedy.name} is in observe, by {where}" if quiet else None


@guard("advised")
def advise(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where nobody has turned it on."""
    del action
    if situation.policy.of(remedy.name) == "act":
        return None
    where = situation.policy.path or PATH
    return f'{remedy.name} is in advise; [mode] "{remedy.name}" = "act" in {where} turns it on'


@guard("advised")
def actor(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where the only hand is not there."""
    del action, remedy
    return None if situation.actor else NO_ACTOR


@guard("refused")
def proved(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where it was not shown to work well enough, and the site does not allow it by name."""
    del action
    if situation.policy.proved(remedy.name):
        return None
    return f"{remedy.name} is only {remedy.proved}, and allow_unproved does not name it"


@guard("refused")
def real(action: Action, remedy: Remedy, situation: Situation) -> str | None:
    """Object where what was seen is no node that is there now."""
    del action, remedy
    if situation.rehearsal:
        return None
    if situation.recorded:
        return "this is a recording"
    return "the GPUs are simulated" if situation.simulated else None


GUARDS: tuple[Guard, ...] = (observe, advise, actor, proved, real)
