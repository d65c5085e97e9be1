"""A loop whose time jumps to the next timer, and a node whose time is the loop's."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Self, TypeVar

from collectors.catalog import Source
from collectors.facts.answers import Files, Output
from collectors.facts.observation import Cause, Missing
from collectors.node.protocol import Identity, LogText

T = TypeVar("T")
EPOCH = 1_796_000_000.0


class Virtual(asyncio.SelectorEventLoop):
    """Nothing waits: where all tasks sleep, it is the time of the first to wake."""

    def __init__(self) -> None:
        self.at = 0.0
        super().__init__(selectors.DefaultSelector())

    def time(self) -> float:
        return self.at

    def _run_once(self) -> None:
        timers = self._scheduled  # type: ignore[attr-defined]  # asyncio's own list
        waits = [timer.when() for timer in timers if not timer.cancelled()]
        if waits and not self._ready:  # type: ignore[attr-defined]  # same
            self.at = max(self.at, min(waits))
        super()._run_once()  # type: ignore[misc]  # same


def virtually(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run *main* to its end in virtual time."""
    with asyncio.Runner(loop_factory=Virtual) as runner:
        return runner.run(main())


async def for_a_while(work: Coroutine[Any, Any, Any], seconds: float) -> None:
    """Run what never ends for so long."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        return


class Still:
    """A node of which nothing can be seen; its clocks are the loop's."""

    async def identity(self) -> Identity:
        return Identity(node="gpu-017", boot_id="b00t", kernel=None)

    async def files(self, *patterns: str, names: Sequence[str] = (), **_: Any) -> Files | Missing:
        del patterns, names
        return Missing(what="files", cause=Cause.DENIED, detail="nothing is shown here")

    async def command(self, tool: str, *args: str, deadline_s: float) -> Output | Missing:
        del args, deadline_s
        return Missing(what=tool, cause=Cause.NO_TOOL, detail=f"{tool} is not installed")

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        del deadline_s, args
        return Missing(what=kind, cause=Cause.DENIED, detail="nobody answers here")

    async def log(self, path: str, *, deadline_s: float = 10.0) -> LogText | Missing:
        del deadline_s
        return Missing(what=path, cause=Cause.DENIED, detail="no log is here")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def now(self) -> float:
        return EPOCH + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def branch(self) -> Self:
        return self

    def join(self, branches: Iterable[Self]) -> None:
        del branches

    async def close(self) -> None:
        return


class Said:
    """A log that keeps what it was told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, /, **facts: Any) -> None:
        self.lines.append((event, facts))

    warning = error = exception = info

    def of(self, *events: str) -> list[str]:
        return [event for event, _ in self.lines if event in events]


def every(collect: Callable[..., Any], shape: type, period_s: float, *after: type) -> Source:
    """Return a source that is not in the catalogue."""
    return Source(shape=shape, collect=collect, period_s=period_s, after=after)
