"""What an action is done with: all of it can be stood in for, but the actor."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from remediations.act.hand import Actor, Hand
from remediations.plan.actions import Action, Remedy

# done, failed, rolled_back, handed_over (to a person); untouched: it never changed anything; open:
# the actor went away, and `recover` will close it.
Outcome = str


class Lease(msgspec.Struct, frozen=True):
    """The fleet's leave, by its id; `held` tells that the node was out under it before."""

    id: str
    held: bool = False


class Refusal(msgspec.Struct, frozen=True):
    """The fleet's no, or its silence, in words."""

    why: str


class Leases(Protocol):
    """Whoever gives leave to take a node away."""

    async def ask(self, action: Action, remedy: Remedy) -> Lease | Refusal:
        """Ask for leave; silence is a refusal."""
        ...

    async def give_back(self, lease: str) -> None:
        """Give it back; what fails is left to run out."""
        ...


class Audit(Protocol):
    """Whoever keeps what was done, for good."""

    async def tell(self, action: Action, what: Outcome, reason: str, lease: str | None) -> None:
        """Keep one line; never raises."""
        ...


Save = Callable[[Action], Awaitable[str | None]]
"""Saves the evidence; returns why it could not, in words."""

Check = Callable[[Sequence[str]], Awaitable[str | None]]
"""Runs checks again by these names; returns what speaks against the node, in words."""


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; `hands` are others that do verbs, by the word before their first underscore."""

    actor: Actor
    leases: Leases
    audit: Audit
    save: Save
    check: Check
    sleep: Callable[[float], Awaitable[None]]
    now: Callable[[], float]
    hands: Mapping[str, Hand] = {}
    # None: the agent acts by itself. Else who stands at the keyboard, like `person:0`.
    person: str | None = None
    patience_s: float = 30.0
    # The leases under which the node is out: who gives it back gives them back.
    out_under: tuple[str, ...] = ()


class Ended(msgspec.Struct, frozen=True):
    """What became of an action."""

    outcome: Outcome
    reason: str
