"""The life of an incident over many looks: open, acknowledged, resolved, reopened."""

from collections.abc import Collection, Mapping

import msgspec

from diagnostics.document import IncidentState

# A link that comes and goes within this is one incident, and not one each time.
SETTLE_S = 300.0
# What comes back later is another incident, though of the same thing.
REOPEN_S = 7 * 86400.0
MOST = 4096


class Life(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one incident; times are epoch seconds.

    `check` is the one that can say that it is over. `cleared` is since when it says so, None while
    it does not; `resolved` is when it had said so for the settling time.
    """

    first_seen: float
    check: str
    state: IncidentState = "open"
    cleared: float | None = None
    resolved: float | None = None


def advance(
    before: Mapping[str, Life],
    now: Mapping[str, str],
    at: float,
    *,
    blind: Collection[str] = (),
    within: Collection[str] = (),
) -> dict[str, Life]:
    """Return the lives after one more look, made *at* this time.

    *now* is the check of each incident that is there, by fingerprint. *within* are those that are
    no incident now because another one explains them: they are not over. Nothing is over because
    its check was *blind*.
    """
    lives = {name: _gone(life, at, blind) for name, life in before.items() if name not in now}
    lives |= {name: before[name] for name in lives if name in within}
    lives |= {name: _there(before.get(name), check, at) for name, check in now.items()}
    kept = {name: life for name, life in lives.items() if not _forgotten(life, at)}
    newest = sorted(kept.items(), key=lambda item: (item[1].first_seen, item[0]))[-MOST:]
    return dict(newest)


def acknowledge(life: Life) -> Life:
    """Return it as known to a person; what is resolved stays so."""
    if life.state == "resolved":
        return life
    return msgspec.structs.replace(life, state="acknowledged")


def _there(life: Life | None, check: str, at: float) -> Life:
    if life is None:
        return Life(first_seen=at, check=check)
    state: IncidentState = "reopened" if life.state == "resolved" else life.state
    return Life(first_seen=life.first_seen, check=check, state=state)


def _gone(life: Life, at: float, blind: Collection[str]) -> Life:
    if life.state == "resolved":
        return life
    if life.check in blind:
        # The settling time is one of looks that saw: it begins anew.
        return msgspec.structs.replace(life, cleared=None)
    cleared = at if life.cleared is None else life.cleared
    if at - cleared < SETTLE_S:
        return msgspec.structs.replace(life, cleared=cleared)
    return msgspec.structs.replace(life, state="resolved", cleared=cleared, resolved=at)


def _forgotten(life: Life, at: float) -> bool:
    return life.resolved is not None and at - life.resolved > REOPEN_S
