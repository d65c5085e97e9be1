"""The daemon's own log: one JSON object a line on standard error, where journald reads it."""

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Protocol, TextIO

# Lines of one event in one minute; a loop of failures must not fill the journal.
MOST_A_MINUTE = 20
MOST_EVENTS = 256
MINUTE_S = 60.0

Event = MutableMapping[str, Any]


class Log(Protocol):
    """What the parts of the daemon write to: an event's name, and facts by name."""

    def info(self, event: str, /, **facts: Any) -> Any:  # noqa: ANN401 - structlog's own types
        """Tell of what is as it should be."""
        ...

    def warning(self, event: str, /, **facts: Any) -> Any:  # noqa: ANN401 - same
        """Tell of what somebody should look at."""
        ...

    def error(self, event: str, /, **facts: Any) -> Any:  # noqa: ANN401 - same
        """Tell of what did not work."""
        ...

    def exception(self, event: str, /, **facts: Any) -> Any:  # noqa: ANN401 - same
        """Tell of a bug of ours, with where it was."""
        ...


class Limit:
    """A processor that lets the first lines of an event through each minute and counts the rest."""

    def __init__(
        self, drop: type[BaseException], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.suppressed = 0
        self._drop = drop
        self._clock = clock
        self._since: dict[str, tuple[float, int]] = {}

    def __call__(self, _: object, __: str, event: Event) -> Event:
        """Return *event*, with how many like it were left out before, or drop it."""
        name, now = str(event.get("event", "")), self._clock()
        began, count = self._since.get(name, (now, 0))
        left_out = 0
        if now - began >= MINUTE_S:
            left_out = max(count - MOST_A_MINUTE, 0)
            began, count = now, 0
        if name not in self._since and len(self._since) >= MOST_EVENTS:
            self._since.clear()
        self._since[name] = (began, count + 1)
        if count >= MOST_A_MINUTE:
            self.suppressed += 1
            raise self._drop
        if left_out:
            event["left_out_before"] = left_out
        return event


@contextlib.contextmanager
def without_rich() -> Iterator[None]:
    """Let an import believe that rich is not installed.

    structlog imports rich wherever it finds it, for consoles: 3 MiB on every node for nothing.
    """
    absent = "rich" not in sys.modules
    if absent:
        sys.modules["rich"] = None  # type: ignore[assignment]  # what the import system reads as "none"
    try:
        yield
    finally:
        if absent:
            del sys.modules["rich"]


def configure(stream: TextIO | None = None) -> tuple[Log, Limit]:
    """Return the log, and its limit, which knows how many lines it left out."""
    with without_rich():
        import structlog  # noqa: PLC0415 - only the daemon keeps a log, and only so

    limit = Limit(structlog.DropEvent)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            limit,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=stream or sys.stderr),
        cache_logger_on_first_use=True,
    )
    log: Log = structlog.get_logger()
    logging.basicConfig(handlers=[_Passing(log)], level=logging.WARNING, force=True)
    return log, limit


class _Passing(logging.Handler):
    """What libraries have to say, in the one log."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Pass it on."""
        self._log.warning(f"library_{record.name[:40]}", said=record.getMessage()[:500])
