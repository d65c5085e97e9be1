"""The numbers of one run in their order, bounded, with the lines that matter quoted."""

import math
from collections import deque

import msgspec

from diagnostics.series.lines import Numbers

MOST_POINTS = 20_000
QUOTED = 2_000


class Point(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step as a log prints it, None where it does not; times in milliseconds."""

    step: int | None = None
    loss: float | None = None
    grad_norm: float | None = None
    step_ms: float | None = None
    sync_ms: float | None = None
    batch: int | None = None


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the log, counted from 1, without colour codes; `step` where it says one."""

    line: int
    text: str
    step: int | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last points of a log; `count` is how many there were.

    `bad` lines have a loss that is not finite, the first of them is quoted; `finite` quotes the
    last finite loss, `timed` the last step time, `synced` the last gradient-sync time.
    """

    points: tuple[Point, ...] = ()
    count: int = 0
    bad: int = 0
    first_bad: Quote | None = None
    last_bad: Quote | None = None
    finite: Quote | None = None
    timed: Quote | None = None
    synced: Quote | None = None


class Drawing:
    """Takes number lines one by one and keeps what a Curve holds."""

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._steps: deque[Point] = deque(maxlen=most)
        self._micro: deque[Point] = deque(maxlen=most)
        self._count = self._bad = 0
        self._quotes: dict[str, tuple[int, str, int | None]] = {}

    def add(self, said: Numbers, line: int, text: str) -> None:
        """Take what a line says; its text is kept only as long as it is the first or the last."""
        quote = (line, text, said.step)
        if said.loss is not None:
            self._loss(said.loss, quote)
        if said.step_ms is not None:
            self._quotes["timed"] = quote
        if said.sync_ms is not None:
            self._quotes["synced"] = quote
        points = self._micro if said.micro else self._steps
        if said.step is None and said.step_ms is None:
            # A block of timers stands below the line of its step.
            if points:
                points[-1] = msgspec.structs.replace(points[-1], sync_ms=said.sync_ms)
            return
        points.append(
            Point(
                step=said.step,
                loss=said.loss,
                grad_norm=said.grad_norm,
                step_ms=said.step_ms,
                sync_ms=said.sync_ms,
                batch=said.batch,
            )
        )
        self._count += not said.micro

    def _loss(self, loss: float, quote: tuple[int, str, int | None]) -> None:
        if math.isfinite(loss):
            self._quotes["finite"] = quote
            return
        self._bad += 1
        self._quotes.setdefault("first_bad", quote)
        self._quotes["last_bad"] = quote

    def curve(self) -> Curve:
        """Return what was drawn: whole steps, or their passes where no whole step is timed."""
        points = self._steps or self._micro
        quotes = {
            name: Quote(line=line, text=text[:QUOTED], step=step)
            for name, (line, text, step) in self._quotes.items()
        }
        return Curve(
            points=tuple(points),
            count=self._count or len(self._micro),
            bad=self._bad,
            **quotes,
        )
