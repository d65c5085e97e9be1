"""How a module of verbs adds what it can do: one decorator a kind.

    @verb("slurm.drain", "slurm.reboot")
    def slurm_drain(turn: Turn, reason: str) -> str:
        ...checks its own precondition by its own reading, acts, returns what it did...

The name on the wire is the function's. Arguments are str, int, bool or a list of one of these; a
caller gives `id` before them, the gate gives the turn. A verb that finds its precondition not met
raises loop.Refused("denied", why) before it changed anything. The answer is JSON.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, get_type_hints

from collectors.helpers.children.loop import Refused
from remediations.policy import Policy


class Turn(NamedTuple):
    """Why a verb is called: the open action, what the site allows, where state is kept."""

    id: str
    remedy: str
    subject: str
    policy: Policy
    state: Path
    uid: int
    left_s: float


class Kept(NamedTuple):
    """Where state is kept, and what the site allows, for what needs no open action."""

    state: Path
    policy: Policy


class Verb(NamedTuple):
    """A verb that changes something, and the remedies that may use it.

    *undoes* names by remedy the verb that this one takes back there. It is refused unless that one
    was done in the same action with the same arguments; then it is let through after the deadline,
    too, and where the site allows it no longer.
    """

    call: Callable[..., Any]
    remedies: frozenset[str]
    undoes: Mapping[str, str] = MappingProxyType({})


class Tick(NamedTuple):
    """What the actor does by itself: each so many seconds, in a process of its own."""

    call: Callable[[Path, Policy | None], None]
    seconds: float


VERBS: dict[str, Verb] = {}
QUESTIONS: dict[str, Callable[..., Any]] = {}
KEEPERS: dict[str, Verb] = {}
TICKS: dict[str, Tick] = {}

Call = TypeVar("Call", bound=Callable[..., Any])


def verb(*remedies: str, undoes: Mapping[str, str] | None = None) -> Callable[[Call], Call]:
    """Add a verb that changes something, for an open action of one of *remedies*."""

    def add(call: Call) -> Call:
        VERBS[call.__name__] = Verb(call, frozenset(remedies), undoes or MappingProxyType({}))
        return call

    return add


def question(call: Call) -> Call:
    """Add a verb that only reads; its first parameter is the state directory."""
    QUESTIONS[call.__name__] = call
    return call


def keeper(remedy: str) -> Callable[[Call], Call]:
    """Add a verb that renews what an action left behind, without an action of its own.

    Its first parameter is a Kept; *remedy* must be in `act`, and proved or allowed by name.
    """

    def add(call: Call) -> Call:
        KEEPERS[call.__name__] = Verb(call, frozenset((remedy,)))
        return call

    return add


def every(seconds: float) -> Callable[[Call], Call]:
    """Call it by itself each so many seconds, with the state directory and the policy.

    The policy is None where it is absent or not to be trusted: then what was capped is lifted.
    """

    def add(call: Call) -> Call:
        TICKS[call.__name__] = Tick(call, seconds)
        return call

    return add


def arguments(call: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a verb's arguments on the wire: all but the first."""
    hints = get_type_hints(call)
    hints.pop("return", None)
    first = next(iter(hints), None)
    return {name: hint for name, hint in hints.items() if name != first}


__all__ = [
    "KEEPERS",
    "QUESTIONS",
    "TICKS",
    "VERBS",
    "Kept",
    "Refused",
    "Tick",
    "Turn",
    "Verb",
    "arguments",
    "every",
    "keeper",
    "question",
    "verb",
]
