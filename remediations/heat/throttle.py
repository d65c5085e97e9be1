"""When one GPU's power limit goes down, stays, and goes up again: a pure state machine.

It is told every sample what the driver, the BMC and the actor say, and answers with one order. The
cap itself is no memory of it, but what the actor says it holds: after a restart of the agent it
goes on from there.
"""

from typing import Literal

import msgspec

from remediations.heat import lease

HOT_C, COOL_C = 0.0, 5.0
SAMPLES, HOT_SAMPLES = 10, 5
# Counters grow by microseconds on healthy boards, which is no slowdown (of 30 s, 1 ms).
SLOWED_NS = 1_000_000
# A sample that comes earlier than this share of the period is the last one again.
EARLY, LATE = 0.8, 3.0
# A BMC that was silent is believed after so many samples in a row.
TRUSTED_AGAIN = 10

# What the BMC's sensors say together: hot and cool are each the word of two that agree; of a
# single one nothing is believed.
Bmc = Literal["none", "single", "cool", "warm", "hot", "silent", "lying"]
Phase = Literal["watching", "capped", "holding", "braked", "blind", "foreign", "floor"]
Kind = Literal["keep", "down", "up", "lift"]
# A person has it from here: the cap is kept as it is.
HANDED_OVER: frozenset[Phase] = frozenset({"braked", "blind", "foreign", "floor"})


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How often it looks and how long it waits, in seconds."""

    sample_s: float = 30.0
    hold_s: float = lease.HOLD_S
    up_s: float = 900.0
    distrust_s: float = 900.0

    def times(self, factor: float) -> "Pace":
        """Return the pace of a rehearsal: all times by *factor*."""
        return Pace(**{key: value * factor for key, value in msgspec.structs.asdict(self).items()})


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The cap that the actor holds: the limit, what was before, when it was last lowered."""

    limit: int
    before: int
    stepped_s_ago: float


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU, or the node, at one moment.

    `margin_c` is the driver's: C left until it slows down, None where the driver says nothing.
    `slowed_ns` counts the time spent in thermal slowdown. `limit` and its bounds are mW.
    """

    at_s: float
    margin_c: float | None = None
    slowed_ns: int | None = None
    limit: int | None = None
    default: int | None = None
    least: int | None = None
    held: Held | None = None
    bmc: Bmc = "none"
    braked: bool = False
    supply_lost: bool = False


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered from sample to sample; a new one is that of a start."""

    samples: tuple[tuple[float, bool], ...] = ()
    last_s: float | None = None
    slowed_ns: int | None = None
    cool_since_s: float | None = None
    distrusted_since_s: float | None = None
    trusted: int = 0
    ordered_s: float | None = None
    phase: Phase = "watching"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now, and the sentence that says why; `page` asks for a person."""

    kind: Kind = "keep"
    limit: int | None = None
    why: str
    page: bool = False


def step(state: State, seen: Seen, pace: Pace = Pace()) -> tuple[State, Order]:  # noqa: B008 - frozen
    """Return the state after this sample, and the one thing to do."""
    if state.last_s is not None and seen.at_s - state.last_s < EARLY * pace.sample_s:
        return state, Order(why="the last sample is not old enough")
    if state.last_s is not None and seen.at_s - state.last_s > LATE * pace.sample_s:
        state = _forgetful(state)
    state = _trust(state, seen)
    grown = _grown(state, seen)
    state = msgspec.structs.replace(state, last_s=seen.at_s, slowed_ns=seen.slowed_ns)
    if (why := _stays(state, seen, pace)) is not None:
        # A person is called where something is at stake: a cap that is kept, or heat left alone.
        return _paused(state, why, call=seen.held is not None or _hot(seen, grown=grown))
    return _judged(state, seen, pace, grown=grown)


def _forgetful(state: State) -> State:
    """Return the state after a gap: nobody knows what was in between."""
    return msgspec.structs.replace(state, samples=(), cool_since_s=None, slowed_ns=None)


def _trust(state: State, seen: Seen) -> State:
    """Count how long the BMC has been silent or lying, and how long it has spoken well since."""
    if seen.bmc in ("silent", "lying"):
        since = seen.at_s if state.distrusted_since_s is None else state.distrusted_since_s
        return msgspec.structs.replace(state, distrusted_since_s=since, trusted=0)
    trusted = min(state.trusted + 1, TRUSTED_AGAIN)
    since_s = None if trusted >= TRUSTED_AGAIN else state.distrusted_since_s
    return msgspec.structs.replace(state, distrusted_since_s=since_s, trusted=trusted)


def _grown(state: State, seen: Seen) -> bool:
    before, now = state.slowed_ns, seen.slowed_ns
    return before is not None and now is not None and now - before > SLOWED_NS


def _stays(state: State, seen: Seen, pace: Pace) -> tuple[Phase, str] | None:
    """Return why nothing may be changed now, whatever the temperature is."""
    if seen.braked:
        return "braked", "the power brake is on: this is no heat, and nothing is capped"
    if seen.supply_lost:
        return "braked", "a power supply is lost: this is no heat, and nothing is capped"
    if blind(seen):
        kept = ": the cap is kept" if seen.held else ""
        return "blind", f"neither the driver nor the BMC tells a temperature{kept}"
    if seen.bmc in ("silent", "lying") and _distrusted_s(state, seen) < pace.distrust_s:
        return "holding", f"the BMC's sensors are {seen.bmc}: all stays as it is for a while"
    return None


def blind(seen: Seen) -> bool:
    """Return whether nobody tells how hot it is."""
    return seen.margin_c is None and seen.bmc not in ("cool", "warm", "hot")


def _distrusted_s(state: State, seen: Seen) -> float:
    return seen.at_s - (seen.at_s if state.distrusted_since_s is None else state.distrusted_since_s)


def _paused(state: State, why: tuple[Phase, str], *, call: bool) -> tuple[State, Order]:
    phase, sentence = why
    state = msgspec.structs.replace(state, samples=(), cool_since_s=None, phase=phase)
    return state, Order(why=sentence, page=call and phase in HANDED_OVER)


def _judged(state: State, seen: Seen, pace: Pace, *, grown: bool) -> tuple[State, Order]:
    hot, cool = _hot(seen, grown=grown), _cool(seen, grown=grown)
    samples = (*state.samples, (seen.at_s, hot))[-SAMPLES:]
    since = None if not cool else seen.at_s if state.cool_since_s is None else state.cool_since_s
    phase: Phase = "capped" if seen.held else "watching"
    state = msgspec.structs.replace(state, samples=samples, cool_since_s=since, phase=phase)
    if sum(was for _, was in samples) >= HOT_SAMPLES:
        return _down(state, seen, pace)
    if seen.held and since is not None and seen.at_s - since >= pace.up_s:
        return _up(state, seen, seen.held)
    return state, Order(why=_said(seen))


def _hot(seen: Seen, *, grown: bool) -> bool:
    """Return whether it is too hot: the driver's word where it gives one, else the BMC's."""
    if seen.margin_c is None:
        return seen.bmc == "hot"
    return seen.margin_c <= HOT_C or grown


def _cool(seen: Seen, *, grown: bool) -> bool:
    if seen.margin_c is None:
        return seen.bmc == "cool"
    return seen.margin_c >= COOL_C and not grown


def _down(state: State, seen: Seen, pace: Pace) -> tuple[State, Order]:
    limit, default, least = seen.limit, seen.default, seen.least
    if limit is None or default is None or least is None:
        state = msgspec.structs.replace(state, phase="blind")
        return state, Order(why="it is hot, and its power limit is not told", page=True)
    ours = seen.held.limit if seen.held else default
    if limit != ours:
        state = msgspec.structs.replace(state, phase="foreign")
        why = "it is hot, and another's power limit is in force, which is left as it is"
        return state, Order(why=why, page=True)
    wanted = lease.lower(limit, default, least)
    if wanted is None:
        state = msgspec.structs.replace(state, phase="floor")
        return state, Order(why="it is hot at the lowest limit that we may set", page=True)
    if (left := _to_wait(state, seen, pace)) > 0:
        return state, Order(why=f"it is hot, and the next step may come in {left:.0f} s")
    state = msgspec.structs.replace(
        state, samples=(), cool_since_s=None, ordered_s=seen.at_s, phase="capped"
    )
    return state, Order(kind="down", limit=wanted, why=_because(seen))


def _to_wait(state: State, seen: Seen, pace: Pace) -> float:
    """Return the time until the next step down is allowed, by our order and the actor's word."""
    ours = 0.0 if state.ordered_s is None else state.ordered_s + pace.hold_s - seen.at_s
    held = 0.0 if seen.held is None else pace.hold_s - seen.held.stepped_s_ago
    return max(ours, held)


def _up(state: State, seen: Seen, held: Held) -> tuple[State, Order]:
    state = msgspec.structs.replace(state, cool_since_s=seen.at_s)
    wanted = lease.higher(held.limit, seen.default or held.before, held.before)
    if wanted is None:
        state = msgspec.structs.replace(state, phase="watching")
        return state, Order(kind="lift", why="it is cool: the limit of before is put back")
    return state, Order(kind="up", limit=wanted, why="it is cool: one step up")


def _because(seen: Seen) -> str:
    if seen.margin_c is None:
        return "the driver tells no temperature, and two sensors of the BMC agree that it is hot"
    if seen.margin_c > HOT_C:
        return f"it slows down because of heat, with {seen.margin_c:g} C left by its own word"
    return f"{seen.margin_c:g} C are left until it slows down, in 5 of 10 samples"


def _said(seen: Seen) -> str:
    told = "the BMC" if seen.margin_c is None else f"{seen.margin_c:g} C left"
    return f"nothing is to be done: {told}"
