"""Caps: a lower power limit that is lent, renewed by the agent, and lifted by the actor itself.

Each is written down before it is set, so that a kill at any moment leaves either nothing or what
is known to be ours. Lifting compares first: a limit that is no longer ours is left as it is.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from remediations.actor import capping, clock, held, limits
from remediations.actor.held import Held
from remediations.actor.journal import Journal
from remediations.actor.registry import Kept, Refused, every, keeper, question
from remediations.actor.target import Gone
from remediations.heat import lease
from remediations.policy import Policy

REMEDY = "gpu.power_cap"
PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0")
TICK_S = 10.0
# What could not be lifted is tried again after so long.
AGAIN_S = 60.0
LOCK_S = 5.0
# All times by this factor: 1 but in a rehearsal.
factor = 1.0


@keeper(REMEDY)
def cap_gpu(kept: Kept, gpu: str, limit_mw: int, why: str) -> dict[str, Any]:
    """Hold the GPU at this PCI address down to *limit_mw*, for 15 min; the same again renews it."""
    return _change(kept, _address(gpu), limit_mw, why, {})


@keeper(REMEDY)
def cap_clocks(kept: Kept, gpu: str, limit_mhz: int, why: str) -> dict[str, Any]:
    """Hold the GPU's clocks down to *limit_mhz* instead, where the site chose that."""
    if not kept.policy.heat.locked_clocks:
        raise Refused("denied", "the policy does not let clocks be locked: [heat] locked_clocks")
    return _change(kept, _address(gpu), limit_mhz, why, limits.CLOCKS)


def _address(gpu: str) -> str:
    if not PCI.fullmatch(gpu):
        raise Refused("denied", f"{gpu!r:.40} is no address of a GPU")
    return gpu


@keeper(REMEDY)
def cap_node(kept: Kept, steps: int, why: str) -> dict[str, Any]:
    """Hold the node down by its BMC, *steps* tenths below what it drew; 0 lifts."""
    if not 0 <= steps <= 4:  # noqa: PLR2004 - the floor is 60 %
        raise Refused("denied", f"{steps} steps of 10 % end below the floor of 60 %")
    name, way = limits.of_node(kept.policy)
    return _change(kept, name, steps, why, way)


@keeper(REMEDY)
def renew_caps(kept: Kept) -> dict[str, Any]:
    """Let every cap hold for 15 min from now; one that has run out is not brought back."""
    with _alone(kept.state):
        caps, boot, now = held.read(kept.state), clock.boot_id(), clock.up_s()
        left = {name: one for name, one in caps.items() if one.cap.left_s(boot, now) > 0}
        end = now + lease.LEASE_S * factor
        renewed = {name: capping.until(one, end) for name, one in left.items()}
        if renewed:
            held.write(kept.state, caps | renewed)
    return {"renewed": sorted(renewed)}


@keeper(REMEDY)
def lift_caps(kept: Kept) -> dict[str, Any]:
    """Lift every cap now."""
    return {"ended": lift(kept.state, None, "the agent asked for it")}


@question
def caps(state: Path) -> dict[str, Any]:
    """Return what is held now: limit, what was before, when it was lowered, how long it holds."""
    boot, now = clock.boot_id(), clock.up_s()
    return {"held": [_told(name, one, boot, now) for name, one in held.read(state).items()]}


def _told(name: str, one: Held, boot: str, now: float) -> dict[str, Any]:
    ago = max(now - one.cap.stepped_at, 0.0) if boot == one.cap.boot else capping.LONG_AGO_S
    return {
        "subject": name,
        "unit": one.unit,
        "limit": one.cap.limit,
        "before": one.cap.before,
        "stepped_s_ago": ago,
        "left_s": one.cap.left_s(boot, now),
        "why": one.why,
    }


@every(TICK_S)
def caps_tick(state: Path, policy: Policy | None) -> None:
    """Lift what nobody renewed, and all where the site does not allow caps any more."""
    known = held.read(state)
    if not known:
        return
    if policy is None or policy.of(REMEDY) != "act" or not policy.proved(REMEDY):
        lift(state, None, "the policy does not allow it any more")
        return
    boot, now = clock.boot_id(), clock.up_s()
    over = [name for name, one in known.items() if one.cap.left_s(boot, now) <= 0]
    if over:
        lift(state, over, "nobody renewed it")


def lift(state: Path, names: list[str] | None, because: str) -> dict[str, str]:
    """Lift these caps, or all; return how each ended. What cannot be lifted is tried again."""
    ended = {}
    with _alone(state):
        wanted = held.read(state) if names is None else names
        # The BMC's first: a driver that hangs would hold them up.
        for name in sorted(wanted, key=lambda name: name not in limits.BY_NODE):
            one = held.read(state).get(name)
            if one is None or (names is not None and _renewed(one)):
                continue
            try:
                ended[name] = _lift(state, name, one, because)
            except Refused as no:
                ended[name] = f"not lifted, to be tried again: {no.detail}"
                again = clock.up_s() + AGAIN_S * factor
                later = one._replace(cap=one.cap._replace(boot=clock.boot_id()))
                capping.keep(state, name, capping.until(later, again))
                capping.note(state, name, one, ended[name])
    return ended


def _renewed(one: Held) -> bool:
    return one.cap.left_s(clock.boot_id(), clock.up_s()) > 0


def _lift(state: Path, name: str, one: Held, because: str) -> str:
    """Put back what was before, where the limit is still ours."""
    try:
        with limits.opened(name, one, {}) as at:
            limit = at.read().limit
            how = lease.ending(one.cap, limit)
            if how == "restore":
                at.restore(one.cap.before)
    except Gone as gone:
        return capping.end(state, name, one, f"gone: {gone}", because)
    words = {
        "restore": f"restored to {one.cap.before} {at.unit}",
        "gone": f"gone already: {limit} {at.unit}, as before it",
        "foreign": f"left: another's limit of {limit} {at.unit} is in force",
    }
    return capping.end(state, name, one, words[how], because)


def put_back(state: Path) -> dict[str, str]:
    """Set every cap again that a reset of its GPU took away, with what is left of its lease."""
    done = {}
    with _alone(state):
        for name, one in held.read(state).items():
            try:
                with limits.opened(name, one, {}) as at:
                    # No function of NVML tells a lock of clocks: after a reset there is none.
                    lost = one.way == limits.CLOCKS
                    if lost or lease.ending(one.cap, at.read().limit) == "gone":
                        done[name] = f"set to {at.put(one.cap.limit)} {at.unit} again"
            except (Refused, Gone) as no:
                done[name] = f"not set again: {no}"
            if name in done:
                capping.note(state, name, one, done[name])
    return done


def _change(kept: Kept, name: str, wanted: int, why: str, way: Mapping[str, str]) -> dict[str, Any]:
    if not kept.policy.proved(REMEDY):
        raise Refused("denied", f"{REMEDY} is not proved, and allow_unproved does not name it")
    with _alone(kept.state):
        known = held.read(kept.state)
        one = known.get(name)
        if one is not None and (one.way == limits.CLOCKS) != (way == limits.CLOCKS):
            raise Refused("denied", f"{name} is held down in {one.unit}: lift that first")
        if len(known) >= lease.MOST_KEPT and one is None:
            raise Refused("denied", f"{len(known)} caps are on, more than a node has GPUs")
        cap = capping.Capping(kept.state, name, one, why, way, factor)
        try:
            with limits.opened(name, one, way, kept.policy.heat) as at:
                return cap.change(at, wanted)
        except Gone as gone:
            if one is not None:
                capping.end(kept.state, name, one, f"gone: {gone}", "its GPU is not there")
            raise Refused("denied", str(gone)) from None


@contextmanager
def _alone(state: Path) -> Iterator[None]:
    """Change caps alone; a driver that hangs in another change does not hang this one."""
    end = time.monotonic() + LOCK_S
    while True:
        with Journal(state).locked("caps", wait=False) as mine:
            if mine:
                yield
                return
        if time.monotonic() > end:
            raise Refused("timeout", "another change of a cap does not end")
        time.sleep(0.05)  # noqa: TID251 - this process serves one caller, and no loop runs in it
