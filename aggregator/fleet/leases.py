"""May a node be taken away? Budgets over the whole fleet, and a breaker that a person resets.

A request is refused unless all of it holds: acting is not paused, the breaker is closed, the fault
is not that of many nodes that share something, the node and the part were not tried too often,
fewer than max(1, 2 %) of the nodes are out by us, and no other node of its rack or rail is. The
breaker counts nodes that *ask*, granted or not: a false alarm asks everywhere at once, and a
budget alone would let it through slowly.
"""

from collections.abc import Iterable

import msgspec

from aggregator.fleet import ladder, mass

LONGEST_S = 86_400.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the budget and of the breaker."""

    out_share: float = 0.02
    out_least: int = 1
    per_place: int = 1
    asking_share: float = 0.02
    asking_least: int = 3
    asking_window_s: float = 600.0


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A node asks to be taken away for at most `seconds`; `places` are like `rack=r07`.

    `fault` is what the remedy answers, `signature` what is counted over the fleet, `serial` the
    part's.
    """

    id: str
    node: str
    remedy: str
    seconds: float
    places: tuple[str, ...] = ()
    serial: str | None = None
    signature: str | None = None
    fault: str | None = None

    @property
    def goes_on(self) -> bool:
        """Return whether nothing new is to be done: the node only stays out."""
        return self.signature is None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A permission; it holds its node out until released, or expired and the node heard again."""

    id: str
    node: str
    remedy: str
    granted: float
    expires: float
    places: tuple[str, ...] = ()


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision rests on; `asked` are the nodes that asked within the window.

    `same` are the nodes that show the asker's fault, itself among them; `past` are the leases that
    were given to the node, and for the part.
    """

    nodes: int
    held: tuple[Lease, ...]
    asked: frozenset[str]
    paused: bool
    breaker: bool
    same: tuple[mass.Case, ...] = ()
    past: tuple[ladder.Granted, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The answer with its sentence; `trips` tells that the breaker opens by this request."""

    lease: Lease | None
    reason: str
    renewed: bool = False
    trips: bool = False


def allowed_out(nodes: int, limits: Limits) -> int:
    """Return how many nodes may be out by us at once."""
    return max(limits.out_least, int(nodes * limits.out_share))


def decide(wanted: Wanted, fleet: Fleet, limits: Limits, now: float) -> Decision:
    """Return whether *wanted* is granted, and why."""
    most = max(limits.asking_least, int(fleet.nodes * limits.asking_share))
    if fleet.paused:
        return _refused("all acting is paused by an operator")
    if fleet.breaker:
        return _refused("the breaker is open: a person has to look and reset it")
    if len(fleet.asked) > most:
        minutes = limits.asking_window_s / 60
        reason = f"{len(fleet.asked)} nodes asked within {minutes:.0f} min, more than {most}"
        return _refused(f"{reason}: the breaker opens", trips=True)
    if objection := _objection(wanted, fleet, now):
        return _refused(objection)
    return _within_budget(wanted, fleet, limits, now)


def _objection(wanted: Wanted, fleet: Fleet, now: float) -> str | None:
    """Return what speaks against a remedy; a lease that is held goes on without one.

    A drain's lease covers the reset and the reboots that follow it, and each of them counts.
    """
    if wanted.goes_on and any(lease.node == wanted.node for lease in fleet.held):
        return None
    own = next((one for one in fleet.same if one.node == wanted.node), None)
    many = mass.objection(wanted.signature or "", own, fleet.same) if own is not None else None
    return many or ladder.objection(wanted.node, wanted.remedy, wanted.serial, fleet.past, now)


def _within_budget(wanted: Wanted, fleet: Fleet, limits: Limits, now: float) -> Decision:
    own = next((lease for lease in fleet.held if lease.node == wanted.node), None)
    if own is not None:
        return _granted(wanted, now, own)
    most = allowed_out(fleet.nodes, limits)
    if len(fleet.held) >= most:
        return _refused(f"{_names(fleet.held)} out already, and {most} may be")
    for place in wanted.places:
        there = [lease for lease in fleet.held if place in lease.places]
        if len(there) >= limits.per_place:
            return _refused(f"{_names(there)} out already in {place}")
    return _granted(wanted, now, None)


def _granted(wanted: Wanted, now: float, own: Lease | None) -> Decision:
    expires = now + min(wanted.seconds, LONGEST_S)
    if own is not None:
        renewed = msgspec.structs.replace(own, remedy=wanted.remedy, expires=expires)
        return Decision(lease=renewed, reason=f"{own.node} goes on", renewed=True)
    lease = Lease(
        id=wanted.id,
        node=wanted.node,
        remedy=wanted.remedy,
        granted=now,
        expires=expires,
        places=wanted.places,
    )
    return Decision(lease=lease, reason="within the budget")


def _refused(reason: str, *, trips: bool = False) -> Decision:
    return Decision(lease=None, reason=reason, trips=trips)


def _names(held: Iterable[Lease]) -> str:
    names = sorted(lease.node for lease in held)
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")  # noqa: PLR2004 - three names are read, thirty are not
    return f"{shown} {'is' if len(names) == 1 else 'are'}"


def out(lease: Lease, received: float | None, now: float) -> bool:
    """Return whether *lease* still holds its node out; *received* is when it was last heard."""
    return lease.expires > now or received is None or received < lease.expires
