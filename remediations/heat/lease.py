"""The arithmetic of a cap: how low, how fast, for how long, and whose a limit is.

Both sides use it, the agent to ask and the actor to check, so nothing but the standard library is.
Limits are whole numbers of one unit, mW for a GPU and W for a node; times are seconds.
"""

from typing import Literal, NamedTuple

LEASE_S = 900.0
HOLD_S = 300.0
FLOOR, STEP = 0.6, 0.1
MOST_KEPT = 64

# What is to be done with a cap whose limit was just read.
Ending = Literal["restore", "gone", "foreign"]


class Cap(NamedTuple):
    """What we hold down.

    `before` is put back at the end. `ours` are the limits that can only come from us: one, or two
    while a change is under way. `stepped_at` is when it was last lowered, `until` when it ends by
    itself, both on the clock of boot *boot*.
    """

    before: int
    ours: tuple[int, ...]
    stepped_at: float
    until: float
    boot: str

    @property
    def limit(self) -> int:
        """Return the limit that was asked for last."""
        return self.ours[-1]

    def left_s(self, boot: str, now: float) -> float:
        """Return how long it holds; what another boot began has ended."""
        # A clock that stands before the lease began is another one.
        left = self.until - now
        return left if boot == self.boot and left <= LEASE_S else 0.0


def base(default: int, least: int, standing: int | None) -> int:
    """Return the limit of a GPU that nobody holds down: the default, or a lower one of the site's.

    One that the GPU cannot have, or that is above its default, is none.
    """
    return standing if standing is not None and least <= standing < default else default


def floor(least: int, default: int) -> int:
    """Return what a limit never goes below: what the hardware allows, or 60 % of the default."""
    return max(least, -(-default * 6 // 10))


def step(default: int) -> int:
    """Return one step: 10 % of the default."""
    return default // 10


def lower(limit: int, default: int, least: int) -> int | None:
    """Return the limit one step down, None where it is at its floor."""
    lowest = floor(least, default)
    return max(limit - step(default), lowest) if limit > lowest else None


def higher(limit: int, default: int, before: int) -> int | None:
    """Return the limit one step up, None where that is all that was there before."""
    raised = limit + step(default)
    return raised if raised < before else None


def foreign(limit: int, default: int, cap: Cap | None) -> bool:
    """Return whether somebody else set this limit: it is neither the default nor ours."""
    return limit not in (cap.ours if cap is not None else ()) and limit != default


class Asked(NamedTuple):
    """A limit that is asked for, beside what holds now.

    `since_step_s` is how long ago it was lowered last, by a cap that has ended since as well.
    """

    wanted: int
    limit: int
    default: int
    least: int
    cap: Cap | None
    since_step_s: float


def objection(asked: Asked, hold_s: float = HOLD_S) -> str | None:
    """Return why this limit may not be set, None where it may."""
    wanted, limit = asked.wanted, asked.limit
    lowest = floor(asked.least, asked.default)
    ceiling = asked.cap.before if asked.cap is not None else asked.default
    if foreign(limit, asked.default, asked.cap):
        return f"another's limit of {limit} is in force, and is left as it is"
    if wanted < lowest:
        return f"{wanted} is below the floor of {lowest}"
    if wanted > ceiling:
        return f"{wanted} is above {ceiling}, which was in force before"
    return _too_fast(asked, hold_s) if wanted < limit else None


def _too_fast(asked: Asked, hold_s: float) -> str | None:
    wanted, limit = asked.wanted, asked.limit
    if limit - wanted > step(asked.default):
        return f"{limit} to {wanted} is more than one step of {step(asked.default)}"
    if asked.since_step_s < hold_s:
        return f"the last step was {asked.since_step_s:.0f} s ago, one in {hold_s:.0f} s is allowed"
    return None


def ending(cap: Cap, limit: int) -> Ending:
    """Return what to do at the end: put back what was, or leave what is no longer ours."""
    if limit in cap.ours:
        return "restore"
    return "gone" if limit == cap.before else "foreign"
