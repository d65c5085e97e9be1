"""Whether a node passes after it was repaired, by the daemon's own walks."""

from collections.abc import Callable, Sequence

from agent.daemon.walker import Walk

PASSED = ("ok", "not_applicable")


class Checking:
    """Whether a node passes, by walks over what was looked at after it was first asked.

    It is asked when all steps are done: what was seen before says nothing of them.
    """

    def __init__(self, clock: Callable[[], float], walk: Callable[[], Walk | None]) -> None:
        self._clock = clock
        self._walk = walk
        self._since: float | None = None

    async def against(self, names: Sequence[str]) -> str | None:
        """Return what speaks against the node, in words."""
        if self._since is None:
            self._since = self._clock()
        walk = self._walk()
        if walk is None:
            return "no walk was made yet"
        lines = {one.check: one for stage in walk.document.stages for one in stage.checks}
        for name in names:
            line = lines.get(name)
            if line is None:
                return f"{name} was not run"
            if walk.ended - walk.ages_s.get(name, 0.0) <= self._since:
                return f"{name} was not looked at since"
            if line.verdict not in PASSED:
                return f"{name} is {line.verdict}: {line.message or 'no word of it'}"
        return None
