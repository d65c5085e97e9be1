"""What the actor's own journal says against another action: open ones, cool-downs, the ladder."""

from collections.abc import Iterable, Mapping
from typing import Any

from remediations.actor import clock
from remediations.actor.journal import Acted, Line
from remediations.actor.rows import DAY, HOUR, REBOOT, ROWS

WINDOW_S = 7 * DAY
MOST = 5
MOST_REBOOTS = 2
# Eight GPUs whose caps move every five minutes are 96 in an hour.
MOST_BEGUN = 300
CAP = "gpu.power_cap"


def objection(known: Mapping[str, Acted], wanted: Line, now: float) -> str | None:
    """Return what speaks against *wanted*, in words."""
    remedy = wanted["remedy"]
    often = sum(now - one.begin["at"] < HOUR for one in known.values())
    if often >= MOST_BEGUN:
        return f"{often} actions were begun within an hour: something asks that should not"
    lane = [one for one in known.values() if (one.begin["remedy"] == CAP) == (remedy == CAP)]
    for one in lane:
        if one.end is None:
            return f"action {one.id} ({one.begin['remedy']}) is open: finish it first"
    if (left := _cooling_s(lane, wanted)) > 0:
        return f"{remedy} was done a short while ago: not again for {left / 60:.0f} min"
    return None if remedy == CAP else _ladder(lane, wanted, now)


def _cooling_s(lane: Iterable[Acted], wanted: Line) -> float:
    remedy = wanted["remedy"]
    return max(
        (
            ROWS[remedy].cooldown_s - max(clock.since(one.begin), 0.0)
            for one in lane
            if one.begin["remedy"] == remedy
            and one.touched
            and (remedy != CAP or one.begin["subject"] == wanted["subject"])
        ),
        default=0.0,
    )


def _ladder(lane: Iterable[Acted], wanted: Line, now: float) -> str | None:
    if ROWS[wanted["remedy"]].takes == "nothing":
        return None
    counted = [
        one
        for one in recent(lane, now)
        if one.touched and ROWS[one.begin["remedy"]].takes != "nothing"
    ]
    reboots = sum(one.begin["remedy"] == REBOOT for one in counted)
    if wanted["remedy"] == REBOOT and reboots >= MOST_REBOOTS:
        return f"{reboots} reboots in 7 days: a person has to look at this node"
    if len(counted) >= MOST:
        return f"{len(counted)} remedies in 7 days: a person has to look at this node"
    return None


def recent(acted: Iterable[Acted], now: float) -> list[Acted]:
    """Return those of the last seven days; of a clock that ran ahead, too."""
    return [
        one for one in acted if one.begin["remedy"] in ROWS and now - one.begin["at"] < WINDOW_S
    ]


def kept(acted: Acted, now: float) -> bool:
    """Return whether the counts still need it; an action that changed nothing is not counted."""
    return acted.end is None or (acted.touched and bool(recent([acted], now)))


def left_s(acted: Acted) -> float:
    """Return the seconds until it is over its deadline.

    One that was begun in another boot by a clock that was set back since is long over it.
    """
    ago = clock.since(acted.begin)
    return float(acted.begin["deadline_s"]) - ago if ago >= 0 else -WINDOW_S


def brief(acted: Acted) -> dict[str, Any]:
    """Return an action for the history: what it was, when, and how it ended."""
    begin = acted.begin
    return {
        "id": acted.id,
        "key": begin["key"],
        "remedy": begin["remedy"],
        "serial": begin["serial"] or None,
        "at": begin["at"],
        "lease": begin["lease"],
        "touched": acted.touched,
        "outcome": "open" if acted.end is None else acted.end["outcome"],
    }


def whole(acted: Acted) -> dict[str, Any]:
    """Return an open action with its steps, for who has to finish it."""
    return {
        "id": acted.id,
        **{name: acted.begin[name] for name in ("key", "remedy", "subject", "serial", "fault")},
        **{name: acted.begin[name] for name in ("signature", "boot_id", "lease", "plan")},
        "left_s": left_s(acted),
        "steps": [
            {"n": s.n, "verb": s.verb, "args": dict(s.args), "outcome": _said(s.outcome)}
            for s in acted.steps
        ],
    }


def _said(outcome: Line | None) -> dict[str, Any] | None:
    return None if outcome is None else {"ok": outcome["ok"], "said": outcome["said"]}
