"""The shape of a guard."""

from collections.abc import Callable

import msgspec

from remediations.plan.actions import Action, Remedy, Situation, Verdict

Objects = Callable[[Action, Remedy, Situation], str | None]


class Guard(msgspec.Struct, frozen=True):
    """A pure function that may object, and what its objection makes of the action."""

    name: str
    verdict: Verdict
    objects: Objects


def guard(verdict: Verdict) -> Callable[[Objects], Guard]:
    """Make a guard of a function; its name is the function's."""

    def make(objects: Objects) -> Guard:
        return Guard(getattr(objects, "__name__", "guard"), verdict, objects)

    return make


def takes_away(remedy: Remedy) -> bool:
    """Return whether *remedy* takes a node or a GPU from those who work there."""
    return remedy.takes in ("gpu", "node")


def root_of(action: Action, situation: Situation) -> str | None:
    """Return the id of the finding that *action* answers, None where it answers none."""
    return next(
        (one.root for one in situation.incidents if one.fingerprint == action.incident), None
    )
