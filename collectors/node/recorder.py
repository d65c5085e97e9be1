"""See a node and remember what was seen, so that it can be replayed elsewhere."""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, Self

from collectors.facts.answers import Files, Output
from collectors.facts.observation import Cause, Missing
from collectors.node.clock import Clock
from collectors.node.layout import Answer, Command, Unanswered, files_args
from collectors.node.protocol import Identity, LogText, Node
from collectors.node.recording.journal import Journal

TEXT_OF_JOBS = ("job_log", "pod_log")
WRITABLE = (Cause.TIMEOUT, Cause.NO_TOOL, Cause.DENIED, Cause.GARBLED, Cause.CRASHED, Cause.STALE)


class Recorder:
    """Another node, with everything that it answers noted down.

    Its time is the one a replay will have: it passes by what is slept and by what tools and helpers
    took, each on its branch, and not by the time between. So what this walk sees, and when, is what
    the replay sees, and finds.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clock = Clock()
        self.journal = Journal()
        moment = dt.datetime.fromtimestamp(node.now(), tz=dt.UTC)
        self.taken = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._began = dt.datetime.fromisoformat(self.taken).timestamp()
        self.seen_as: Identity | None = None

    async def identity(self) -> Identity:
        """Return the node's name, boot id and kernel."""
        self.seen_as = await self._node.identity()
        return self.seen_as

    async def files(
        self,
        *patterns: str,
        names: Sequence[str] = (),
        cap: int = 65_536,
        deadline_s: float = 5.0,
    ) -> Files | Missing:
        """Read files; reading takes no time in a replay, being refused an answer does."""
        at, began = self._clock.passed, self._node.monotonic()
        got = await self._node.files(*patterns, names=names, cap=cap, deadline_s=deadline_s)
        if isinstance(got, Missing):
            args = files_args(patterns, names, cap)
            self._answered(at, "files", args, got, self._took(began, deadline_s))
            return got
        texts = {plain(path): plain(text) for path, text in got.texts.items()}
        errors = {plain(path): error for path, error in got.errors.items()}
        got = Files(texts=texts, errors=errors)
        return self.journal.files(at, patterns, names, cap, got)

    async def command(self, tool: str, *args: str, deadline_s: float) -> Output | Missing:
        """Run a tool."""
        at, began = self._clock.passed, self._node.monotonic()
        got = await self._node.command(tool, *args, deadline_s=deadline_s)
        if isinstance(got, Missing) and got.cause in (Cause.NO_TOOL, Cause.NOT_RECORDED):
            if got.cause is Cause.NO_TOOL:
                self.journal.tool(tool)
            return got
        seconds = self._took(began, deadline_s)
        held = self.journal.command(at, _command((tool, *args), got, seconds))
        self._clock.spend(held.seconds)
        if held.missing is not None:
            return held.missing.missing(tool)
        return Output(
            argv=held.argv,
            status=held.status,
            stdout=held.stdout,
            stderr=held.stderr,
            seconds=held.seconds,
        )

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:  # noqa: ANN401 - JSON
        """Ask a helper."""
        at, began = self._clock.passed, self._node.monotonic()
        got = plain(await self._node.ask(kind, deadline_s=deadline_s, **args))
        if kind == "kernel_log" and not args and _is_whole(got):
            return {"lines": list(self.journal.kernel(at, got["lines"])), "lost": 0}
        if kind in TEXT_OF_JOBS and not isinstance(got, Missing):
            # A job's text is no answer to be kept: it goes where logs go, with what holds for them.
            part = LogText(path=str(got["path"]), text=str(got["text"]))
            self.journal.logs.setdefault(part.path, part)
            return got
        return self._answered(at, kind, args, got, self._took(began, deadline_s))

    def _answered(
        self, at: float, kind: str, args: dict[str, Any], got: object, seconds: float
    ) -> Any:  # noqa: ANN401 - JSON
        if isinstance(got, Missing) and got.cause not in WRITABLE:
            return got
        missing = _unanswered(got) if isinstance(got, Missing) else None
        answer = None if missing else got
        held = Answer(kind=kind, args=args, answer=answer, seconds=seconds, missing=missing)
        held = self.journal.answer(at, held)
        self._clock.spend(held.seconds)
        return held.answer if held.missing is None else held.missing.missing(kind)

    async def log(self, path: str, *, deadline_s: float = 10.0) -> LogText | Missing:
        """Read the end of a log."""
        at, began = self._clock.passed, self._node.monotonic()
        got = await self._node.log(path, deadline_s=deadline_s)
        if isinstance(got, Missing):
            self._answered(at, "log", {"path": path}, got, self._took(began, deadline_s))
            return got
        return self.journal.logs.setdefault(path, got)

    def _took(self, began: float, deadline_s: float) -> float:
        """Return how long an answer took, as it will be judged: never longer than was allowed."""
        return min(round(self._node.monotonic() - began, 3), deadline_s)

    async def sleep(self, seconds: float) -> None:
        """Wait, on the node's clock and on ours."""
        await self._node.sleep(seconds)
        self._clock.spend(seconds)

    def now(self) -> float:
        """Return the wall clock of the recording."""
        return self._began + self._clock.passed

    def monotonic(self) -> float:
        """Return the seconds of the recording."""
        return self._clock.passed

    def branch(self) -> Self:
        """Return a view whose time passes on its own; what it sees is noted in the one journal."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _clock=self._clock.branch(), _node=self._node.branch())
        return other

    def join(self, branches: Iterable[Self]) -> None:
        """Go on where the last branch ended."""
        branches = list(branches)
        self._clock.join(branch._clock for branch in branches)  # noqa: SLF001 - same class
        self._node.join([branch._node for branch in branches])  # noqa: SLF001 - same class

    async def close(self) -> None:
        """Let go of the node."""
        await self._node.close()


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return JSON that a file can hold: no halves of characters, no numbers without a value."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(name): plain(item) for name, item in value.items()}
    return value


def _is_whole(got: Any) -> bool:  # noqa: ANN401 - JSON
    """Return whether a kernel log is all that kmsg.log can say: /dev/kmsg's, with nothing lost."""
    return isinstance(got, dict) and not got.get("lost") and got.get("source", "kmsg") == "kmsg"


def _command(argv: tuple[str, ...], got: Output | Missing, seconds: float) -> Command:
    if isinstance(got, Missing):
        return Command(argv=argv, seconds=seconds, missing=_unanswered(got))
    return Command(
        argv=argv,
        status=got.status,
        stdout=plain(got.stdout),
        stderr=plain(got.stderr),
        seconds=seconds,
    )


def _unanswered(got: Missing) -> Unanswered:
    return Unanswered(
        cause=got.cause, detail=got.detail, what=got.what, verb=got.verb, stuck=got.stuck
    )
