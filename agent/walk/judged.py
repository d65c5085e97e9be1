"""What checks said of what they were shown: who walks for ever judges the same thing once.

A check is a pure function. What was looked at again and is as it was is the same object, so that
comparing costs nothing.
"""

from collections.abc import Mapping

from collectors.facts.observation import Missing, Observation
from diagnostics.check import Check, Limits, Result

Shown = tuple[Observation | Missing | None, ...]


class Judged:
    """Keeps for each check what it was shown last, by which limits, and what it said."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Shown, Limits | None, Result]] = {}

    def run(
        self,
        check: Check,
        seen: Mapping[type[Observation], Observation | Missing],
        limits: Limits | None,
    ) -> Result:
        """Return what the check says, without asking it where nothing changed."""
        shown = tuple(seen.get(need.shape) for need in check.needs)
        known = self._known.get(check.name)
        if known is not None and known[1] == limits and _same(known[0], shown):
            return known[2]
        result = check.run(seen, limits)
        self._known[check.name] = (shown, limits, result)
        return result


def _same(before: Shown, now: Shown) -> bool:
    return all(one is other for one, other in zip(before, now, strict=True))
