"""What every way of seeing a node can be asked."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self

import msgspec

from collectors.facts.answers import Files, Output
from collectors.facts.observation import Missing


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Which node and which boot this is; None where it cannot be seen."""

    node: str
    boot_id: str | None
    kernel: str | None
    simulated: bool = False
    recorded: bool = False


class LogText(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a log: `first_line` counts from 1; `skipped_bytes` were left out before it.

    `first_line` is None where too much was left out to count its lines.
    """

    path: str
    text: str
    first_line: int | None = 1
    skipped_bytes: int = 0


class Node(Protocol):
    """One node at one time: methods answer within their deadline, its ills are no exceptions."""

    async def identity(self) -> Identity:
        """Return the node's name, boot id and kernel."""
        ...

    async def files(
        self,
        *patterns: str,
        names: Sequence[str] = (),
        cap: int = 65_536,
        deadline_s: float = 5.0,
    ) -> Files | Missing:
        """Read all files that match (`*` within a segment), and see which of *names* exist."""
        ...

    async def command(self, tool: str, *args: str, deadline_s: float) -> Output | Missing:
        """Run a tool of the tool table, by its name; no shell, a deadline, capped output."""
        ...

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:  # noqa: ANN401 - JSON
        """Ask a helper a typed question; the answer is plain JSON, or Missing."""
        ...

    async def log(self, path: str, *, deadline_s: float = 10.0) -> LogText | Missing:
        """Return the last part of a log file that a person named."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let the node's time pass."""
        ...

    def now(self) -> float:
        """Return the node's wall clock, seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that is never set, for durations."""
        ...

    def branch(self) -> Self:
        """Return a view whose time passes on its own, for work done beside other work."""
        ...

    def join(self, branches: Iterable[Self]) -> None:
        """Go on at the time when the last of *branches* was done."""
        ...

    async def close(self) -> None:
        """Let go of every helper; returns within 5 s whatever they do."""
        ...
