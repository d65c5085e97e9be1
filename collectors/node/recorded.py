"""Answer from a recording: a folder of plain files that one can read and edit."""

import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from collectors.facts.answers import Files, Output
from collectors.facts.observation import Cause, Missing
from collectors.node.clock import Clock
from collectors.node.kinds import KINDS
from collectors.node.layout import Answer, files_args, question
from collectors.node.protocol import Identity, LogText
from collectors.node.recording.loader import Loader, RecordingError

__all__ = ["Recorded", "RecordingError"]


class Recorded:
    """A node as it was recorded; its time is the recording's and passes only by what is done."""

    def __init__(self, folder: Path) -> None:
        loader = Loader(folder)
        self.meta = loader.meta()
        self._history = loader.history()
        self._driver = loader.driver()
        self._taken = dt.datetime.fromisoformat(self.meta.taken).timestamp()
        self._clock = Clock()

    async def identity(self) -> Identity:
        """Return what meta.toml says."""
        meta = self.meta
        return Identity(
            node=meta.node,
            boot_id=meta.boot_id,
            kernel=meta.kernel,
            simulated=meta.simulated,
            recorded=True,
        )

    async def files(
        self,
        *patterns: str,
        names: Sequence[str] = (),
        cap: int = 65_536,
        deadline_s: float = 5.0,
    ) -> Files | Missing:
        """Return the recorded files that match; Missing if one of the patterns was never asked."""
        if (held := self._answer("files", files_args(patterns, names, cap))) and held.missing:
            self._clock.spend(min(held.seconds, deadline_s))
            return held.missing.missing("files")
        if outside := self._outside(patterns, names):
            return _not_recorded(outside)
        now = self._clock.passed
        return self._history.paths.answer(patterns, names, cap, lambda entry: entry.at(now))

    def _outside(self, patterns: Sequence[str], names: Sequence[str]) -> str | None:
        """Return the first pattern of which the recording does not know everything."""
        holds = self.meta.holds
        unknown = [p for p in patterns if not holds.has_path(p)]
        unknown += [n for n in names if not holds.has_name(n)]
        return unknown[0] if unknown else None

    async def command(self, tool: str, *args: str, deadline_s: float) -> Output | Missing:
        """Return what the tool printed when it was recorded; its seconds pass."""
        line = self._history.commands.get((tool, *args))
        held = line.at(self._clock.passed) if line else None
        if held is None:
            return self._no_command(tool, args)
        self._clock.spend(min(held.seconds, deadline_s))
        if held.missing is not None:
            return held.missing.missing(tool)
        if held.seconds > deadline_s:
            detail = f"{' '.join(held.argv)[:120]} did not end in {deadline_s:g} s"
            return Missing(what=tool, cause=Cause.TIMEOUT, detail=detail)
        return Output(
            argv=held.argv,
            status=held.status,
            stdout=held.stdout,
            stderr=held.stderr,
            seconds=held.seconds,
        )

    def _no_command(self, tool: str, args: tuple[str, ...]) -> Missing:
        """Tell a tool that was not there from one that was not asked this."""
        ran = any(argv[0] == tool for argv in self._history.commands)
        if tool in self.meta.holds.tools and not ran:
            return Missing(what=tool, cause=Cause.NO_TOOL, detail=f"{tool} is not installed")
        return _not_recorded(" ".join((tool, *args)))

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the recorded answer; its seconds pass."""
        held = self._answer(kind, args)
        if held is None and self._driver is not None and self._is_simulated(kind):
            return await self._driver.ask(kind, self._clock.passed, deadline_s, args)
        if held is None:
            return _not_recorded(question(kind, args))
        self._clock.spend(min(held.seconds, deadline_s))
        if held.missing is not None:
            return held.missing.missing(kind)
        if held.seconds > deadline_s:
            return Missing(what=kind, cause=Cause.TIMEOUT, detail=f"no answer in {deadline_s:g} s")
        return held.answer

    def _is_simulated(self, kind: str) -> bool:
        """Return whether the scenario answers this kind: what was recorded goes before it."""
        recorded = any(asked.startswith(f"{kind}{{") for asked in self._history.answers)
        return KINDS[kind].child == "nvml" and not recorded

    def _answer(self, kind: str, args: dict[str, Any]) -> Answer | None:
        """Return what was answered; the kernel log stands in a file of its own."""
        line = self._history.answers.get(question(kind, args))
        held = line.at(self._clock.passed) if line else None
        if held is None and kind == "kernel_log":
            lines = self._history.kernel.at(self._clock.passed)
            if lines is None and kind in self.meta.holds.kinds:
                lines = ()
            if lines is not None:
                return Answer(kind=kind, answer={"lines": list(lines), "lost": 0})
        return held

    async def log(self, path: str, *, deadline_s: float = 10.0) -> LogText | Missing:
        """Return a log of the recording's `logs/` folder."""
        held = self._answer("log", {"path": path})
        if held is not None and held.missing is not None:
            self._clock.spend(min(held.seconds, deadline_s))
            return held.missing.missing(path)
        text = self._history.logs.get(path)
        if text is None:
            return _not_recorded(path)
        part = held.answer if held is not None and isinstance(held.answer, dict) else {}
        first = part.get("first_line", 1)
        return LogText(
            path=path,
            text=text,
            first_line=None if first is None else _count(first, 1),
            skipped_bytes=_count(part.get("skipped_bytes"), 0),
        )

    async def sleep(self, seconds: float) -> None:
        """Let the recording's time pass, at once."""
        self._clock.spend(seconds)

    def now(self) -> float:
        """Return the recording's wall clock."""
        return self._taken + self._clock.passed

    def monotonic(self) -> float:
        """Return the seconds since the recording's start."""
        return self._clock.passed

    def branch(self) -> Self:
        """Return a view of the same recording whose time passes on its own."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _clock=self._clock.branch())
        return other

    def join(self, branches: Iterable[Self]) -> None:
        """Go on where the last branch ended."""
        self._clock.join(branch._clock for branch in branches)  # noqa: SLF001 - same class

    async def close(self) -> None:
        """End the one helper that a scenario of GPUs has."""
        if self._driver is not None:
            await self._driver.close()

    @property
    def logs(self) -> tuple[str, ...]:
        """Return the names of the logs that the recording holds, or tried to hold."""
        asked = (line.values[0] for line in self._history.answers.values())
        tried = {str(answer.args.get("path")) for answer in asked if answer.kind == "log"}
        return tuple(sorted({*self._history.logs, *tried}))


def _count(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and value >= otherwise else otherwise


def _not_recorded(what: str) -> Missing:
    return Missing(what=what, cause=Cause.NOT_RECORDED, detail="the recording does not hold this")
