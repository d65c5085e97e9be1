"""Caps: a lower power limit that is lent, renewed by the agent, and lifted by the actor itself.

Each is written down before it is set, so that a kill at any moment leaves either nothing or what
is known to be ours. Lifting compares first: a limit that is no longer ours is left as it is.
"""

import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from remediations.actor import capping, clock, held, limits, thermal
from remediations.actor.apart import apart
from remediations.actor.held import Held
from remediations.actor.registry import Kept, Refused, every, keeper, question
from remediations.actor.target import Gone
from remediations.actor.turns import alone
from remediations.heat import lease
from remediations.policy import Policy

REMEDY = "gpu.power_cap"
PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0")
TICK_S = 10.0
# What could not be lifted is tried again after so long.
AGAIN_S = 60.0
# In which one cap is lifted: DCMI takes five runs of ipmitool, a driver that is well milliseconds.
NODE_S, GPU_S = 60.0, 10.0
NOT_LIFTED = "not lifted, to be tried again"
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
def node_sensors(kept: Kept) -> dict[str, Any]:
    """Return what the BMC's Redfish says of temperatures, fans and supplies; nothing is changed."""
    name, way = limits.of_node(kept.policy)
    if name != limits.REDFISH:
        raise Refused("denied", "the policy names no BMC by Redfish: [heat] redfish, redfish_url")
    return {"sensors": thermal.read(way)}


@keeper(REMEDY)
def renew_caps(kept: Kept) -> dict[str, Any]:
    """Let every cap hold for 15 min from now; one that has run out is not brought back."""
    boot, now = clock.boot_id(), clock.up_s()
    end = now + lease.LEASE_S * factor
    renewed: dict[str, Held] = {}

    def renew(caps: held.Caps) -> held.Caps:
        left = {name: one for name, one in caps.items() if one.cap.left_s(boot, now) > 0}
        renewed.update({name: capping.until(one, end) for name, one in left.items()})
        return caps | renewed

    held.change(kept.state, renew)
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
    wanted = held.read(state) if names is None else names
    # The BMC's first: it needs no driver.
    for name in sorted(wanted, key=lambda name: name not in limits.BY_NODE):
        over = partial(_ended, state, name, because, even_if_renewed=names is None)
        try:
            how = apart(over, _patience_s(name))
        except Refused as no:
            # Nothing is written down: who hangs in it may still have it in hand.
            how = f"{NOT_LIFTED}: {no.detail}"
            sys.stderr.write(f"{name}: {how}\n")
        if how is not None:
            ended[name] = how
    return ended


def _patience_s(name: str) -> float:
    return NODE_S if name in limits.BY_NODE else GPU_S


def _ended(state: Path, name: str, because: str, *, even_if_renewed: bool) -> str | None:
    """Return how the cap ended, None where there is none to be lifted."""
    with alone(state, name):
        one = held.read(state).get(name)
        if one is None or (_renewed(one) and not even_if_renewed):
            return None
        try:
            return _lift(state, name, one, because)
        except Refused as no:
            how = f"{NOT_LIFTED}: {no.detail}"
            again = clock.up_s() + AGAIN_S * factor
            later = one._replace(cap=one.cap._replace(boot=clock.boot_id()))
            capping.keep(state, name, capping.until(later, again))
            capping.note(state, name, one, how)
            return how


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
    for name in held.read(state):
        try:
            how = apart(partial(_again, state, name), _patience_s(name))
        except Refused as no:
            how = f"not set again: {no.detail}"
        if how is not None:
            done[name] = how
    return done


def _again(state: Path, name: str) -> str | None:
    with alone(state, name):
        one = held.read(state).get(name)
        if one is None:
            return None
        try:
            with limits.opened(name, one, {}) as at:
                # No function of NVML tells a lock of clocks: after a reset there is none.
                lost = one.way == limits.CLOCKS
                if not lost and lease.ending(one.cap, at.read().limit) != "gone":
                    return None
                how = f"set to {at.put(one.cap.limit)} {at.unit} again"
        except (Refused, Gone) as no:
            how = f"not set again: {no}"
        capping.note(state, name, one, how)
        return how


def _change(kept: Kept, name: str, wanted: int, why: str, way: Mapping[str, str]) -> dict[str, Any]:
    if not kept.policy.proved(REMEDY):
        raise Refused("denied", f"{REMEDY} is not proved, and allow_unproved does not name it")
    with alone(kept.state, name):
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
