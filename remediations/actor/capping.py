"""One change of one cap: checked by what is read now, written down, set, written down again."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from remediations.actor import clock, counts, held, limits
from remediations.actor.held import Held
from remediations.actor.journal import Journal
from remediations.actor.registry import Refused
from remediations.actor.target import Gone, Reading, Target
from remediations.heat import lease
from remediations.heat.lease import Asked, Cap

LONG_AGO_S = 1e9
MOST_SAID = 500


class Capping(NamedTuple):
    """What is to be changed: the cap called *name*, which is *one* now, by *way*, because of *why*.

    All times are taken by *factor*, which is 1 but in a rehearsal.
    """

    state: Path
    name: str
    one: Held | None
    why: str
    way: Mapping[str, str]
    factor: float

    def change(self, at: Target, wanted: int) -> dict[str, Any]:
        """Hold the limit at *wanted*, or lift where that is what was before.

        The node's is asked for in steps of 10 %. Refused, with the reason, where a bound stands
        against it, and where the limit is not ours any more.
        """
        now, one = at.read(), self.one
        if one is not None and lease.ending(one.cap, now.limit) != "restore":
            said = f"{now.limit} {at.unit} is in force, which is not ours"
            end(self.state, self.name, one, f"left: {said}", "it was looked at")
            raise Refused("denied", f"the cap on {self.name} is gone: {said}")
        if self.name in limits.BY_NODE:
            wanted = now.default * (10 - wanted) // 10
        if (objection := lease.objection(self._asked(now, wanted), self._hold_s)) is not None:
            raise Refused("denied", objection)
        if one is not None and wanted >= one.cap.before:
            at.restore(one.cap.before)
            how = f"restored to {one.cap.before} {at.unit}"
            return {
                "limit": one.cap.before,
                "ended": end(self.state, self.name, one, how, self.why),
            }
        if one is None and wanted >= now.limit:
            raise Refused("denied", f"nothing is capped at {now.limit} {at.unit}")
        return self._set(at, wanted, now.limit)

    @property
    def _hold_s(self) -> float:
        return lease.HOLD_S * self.factor

    def _asked(self, now: Reading, wanted: int) -> Asked:
        cap = None if self.one is None else self.one.cap
        stepped = held.stepped(self.state, self.name, clock.boot_id())
        since = LONG_AGO_S if stepped is None else clock.up_s() - stepped
        return Asked(wanted, now.limit, now.default, now.least, cap, since)

    def _set(self, at: Target, wanted: int, limit: int) -> dict[str, Any]:
        meant = self._meant(at, wanted, limit)
        keep(self.state, self.name, meant)
        if wanted != limit:
            note(self.state, self.name, meant, f"{limit} to {wanted} {at.unit}: {self.why}")
        try:
            got = at.put(wanted)
        except (Refused, Gone):
            # Whether it was set nobody knows: it ends at once, by comparing.
            keep(self.state, self.name, until(meant, clock.up_s()))
            raise
        ours = (got,) if got == wanted else (wanted, got)
        keep(self.state, self.name, meant._replace(cap=meant.cap._replace(ours=ours)))
        return {"limit": got, "before": meant.cap.before}

    def _meant(self, at: Target, wanted: int, limit: int) -> Held:
        """Return the cap as it is about to be.

        Killed before it is set, the limit is still the one of now; killed after, it is the new one.
        """
        one, up = self.one, clock.up_s()
        cap = Cap(
            before=limit if one is None else one.cap.before,
            ours=(wanted,) if one is None else (limit, wanted),
            stepped_at=up if one is None or wanted < limit else one.cap.stepped_at,
            until=up + lease.LEASE_S * self.factor,
            boot=clock.boot_id(),
        )
        if one is None:
            return Held(cap, time.time(), self.why, at.unit, {**self.way, **at.found})
        return one._replace(cap=cap, why=self.why)


def keep(state: Path, name: str, one: Held) -> None:
    """Write one cap down, beside the others."""
    held.change(state, lambda caps: caps | {name: one})


def end(state: Path, name: str, one: Held, how: str, because: str) -> str:
    """Forget a cap, and remember how it ended; return that."""
    note(state, name, one, f"{how}; {because}")
    ended = {"subject": name, "how": how, "because": because, "at": time.time()}
    ended |= {"stepped_at": one.cap.stepped_at, "boot": one.cap.boot}

    def without(caps: held.Caps) -> held.Caps:
        return {other: cap for other, cap in caps.items() if other != name}

    held.change(state, without, ended)
    return how


def until(one: Held, up_s: float) -> Held:
    """Return the cap with another end."""
    return one._replace(cap=one.cap._replace(until=up_s))


def note(state: Path, name: str, one: Held, said: str) -> None:
    """Write into the actor's journal what is done to a cap."""
    line = {"kind": "cap", "id": "cap", "subject": name, "before": one.cap.before}
    said = said[:MOST_SAID]
    journal = Journal(state)
    journal.rotate(partial(counts.kept, now=time.time()))
    journal.write(line | {"ours": list(one.cap.ours), "said": said} | clock.stamp())
