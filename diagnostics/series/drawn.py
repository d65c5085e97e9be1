"""Join the lines of a step into one point, and note which lines a finding will quote."""

import math
from collections import deque
from typing import Any

import msgspec
from msgspec.structs import astuple

from diagnostics.series.by_rank import QUOTED, ByRank
from diagnostics.series.configuration import Settings
from diagnostics.series.point import Numbers, Point

LAST_REPORTS = 32
# What thinning may leave.
MOST_KEPT = 0.75
# A bar's clock has whole seconds: so many make a step's time good to 5 %.
BAR_S = 20.0

FIELDS = Point.__struct_fields__
JOINED = frozenset(FIELDS) - {"step", "line", "text", "lost", "rewarded"}


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the log, counted from 1, without colour codes; `step` where it says one."""

    line: int
    text: str
    step: int | None = None


class Laggard(msgspec.Struct, frozen=True, kw_only=True):
    """What a framework's own report says: the slowest rank, its time and the fastest's in ms."""

    rank: int
    slow_ms: float
    fast_ms: float
    line: int
    text: str


class Drawn:
    """Points as they grow line by line."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.micro: deque[Point] = deque(maxlen=20_000)
        self.bad = 0
        self._quotes: dict[str, tuple[int, str, int | None]] = {}
        self.laggards: deque[Laggard] = deque(maxlen=LAST_REPORTS)
        self.settings = Settings()
        self._leader: int | None = None
        self._bar: int | None = None
        self._clock: tuple[int, float] | None = None
        self.by_rank = ByRank()

    def copy(self) -> "Drawn":
        """Return one that can go on without changing this."""
        other = Drawn()
        other.points, other.micro = list(self.points), deque(self.micro, self.micro.maxlen)
        other.bad, other._quotes = self.bad, dict(self._quotes)
        other.laggards.extend(self.laggards)
        other.settings = self.settings.copy()
        other._leader, other._bar, other._clock = self._leader, self._bar, self._clock
        other.by_rank = self.by_rank.copy()
        return other

    def thin(self, *, grows: bool) -> None:
        """Keep every other point, all that tell of a step that failed, and the last if it grows."""
        last = len(self.points) - 1
        growing = last if grows else None
        kept = [p for n, p in enumerate(self.points) if not n % 2 or n == growing or _failed(p)]
        # Where most of them failed, they are thinned as others are.
        self.points = kept if len(kept) <= MOST_KEPT * last else self.points[last % 2 :: 2]

    def add(self, said: Numbers, line: int, text: str, rank: int | None) -> None:
        """Take what a line says."""
        if said.slowest is not None and said.slow_ms is not None and said.fast_ms is not None:
            self.laggards.append(
                Laggard(
                    rank=said.slowest,
                    slow_ms=said.slow_ms,
                    fast_ms=said.fast_ms,
                    line=line,
                    text=text[:QUOTED],
                )
            )
            return
        if self.by_rank.listed(said, line, text):
            return
        self._note(said, line, text)
        if rank is not None:
            self.by_rank.take(said, rank, line, text)
            if not self._leads(said, rank):
                return
        if said.micro:
            self.micro.append(_point(said, line, text))
            return
        if said.elapsed_s is not None:
            self._by_bar(said, line, text)
            return
        self._point(said, line, text)

    def _leads(self, said: Numbers, rank: int) -> bool:
        """Return whether the line is of the rank whose numbers make the curve: the first."""
        if self._leader is None and said.step is not None:
            self._leader = rank
        return self._leader in (None, rank) or (said.loss is not None and not _finite(said.loss))

    def _by_bar(self, said: Numbers, line: int, text: str) -> None:
        assert said.elapsed_s is not None, "asked by the caller"
        assert said.step is not None, "a bar always has one"
        self._bar, clock = said.step, self._clock
        if clock is None or said.step < clock[0] or said.elapsed_s < clock[1]:
            self._clock, clock = (said.step, said.elapsed_s), None
        took: float | None = None
        if clock and said.step > clock[0] and said.elapsed_s - clock[1] >= BAR_S:
            took = (said.elapsed_s - clock[1]) * 1e3 / (said.step - clock[0])
            self._clock = (said.step, said.elapsed_s)
        if took is not None or not _timers_alone(said) or said.scale_to is not None:
            self._point(msgspec.structs.replace(said, step_ms=took), line, text)

    def _point(self, said: Numbers, line: int, text: str) -> None:
        step = said.step
        if step is None and self._bar is not None and not _of_no_step(said):
            step = self._bar
        last = self.points[-1] if self.points else None
        if last is not None and _belongs(said, step, last):
            self.points[-1] = _joined(last, said, line, text)
            if said.step_ms is not None:
                self._quotes["timed"] = (line, text, step)
            return
        kept = said.scale_to is not None or _of_no_step(said)
        if step is None and _timers_alone(said) and not kept:
            return
        whole = said if step is said.step else msgspec.structs.replace(said, step=step)
        self.points.append(_point(whole, line, text))

    def _note(self, said: Numbers, line: int, text: str) -> None:
        quote = (line, text, said.step)
        if said.loss is not None:
            if _finite(said.loss):
                self._quotes["finite"] = quote
            else:
                self.bad += 1
                self._quotes.setdefault("first_bad", quote)
                self._quotes["last_bad"] = quote
        if said.step_ms is not None:
            self._quotes["timed"] = quote
        if said.sync_ms is not None:
            self._quotes["synced"] = quote

    def steps(self) -> tuple[Point, ...]:
        """Return whole steps; passes of steps only where nothing else is timed."""
        return tuple(self.points) or tuple(self.micro)

    def quotes(self) -> dict[str, Any]:
        """Return the lines that findings quote, by their names in Curve."""
        return {
            name: Quote(line=line, text=text[:QUOTED], step=step)
            for name, (line, text, step) in self._quotes.items()
        }


def _belongs(said: Numbers, step: int | None, last: Point) -> bool:
    """Return whether the line goes on about the last point's step."""
    if _of_no_step(said) or _of_no_step(last):
        return False
    if said.more:
        return last.step is not None
    if said.scale_to is not None:
        # Each overflow is a step of its own, but for what other ranks say of the same.
        return last.skipped is None or said.scale_from != said.scale_to == last.loss_scale
    if step is not None:
        return last.step == step
    return _timers_alone(said) or (last.step is not None and last.loss is None and not said.step_ms)


def _of_no_step(said: Point) -> bool:
    return said.bus_gb_s is not None or said.served is not None


def _timers_alone(said: Numbers) -> bool:
    return said.step_ms is None and said.loss is None and said.grad_norm is None


def _joined(last: Point, said: Numbers, line: int, text: str) -> Point:
    """Return the point with what the line adds; a number that is not finite is never lost."""
    new: dict[str, Any] = {}
    # A timer's line has one number, and a step of Megatron's has dozens of such lines.
    for name, value in zip(FIELDS, astuple(said), strict=False):
        if value is not None and name in JOINED:
            old = getattr(last, name)
            if old is None or not _finite(value):
                new[name] = value
    if said.scale_to is not None:
        new |= {"loss_scale": said.scale_to, "skipped": 1}
    if new.get("loss") is not None:
        new["lost"] = False
        # A finding quotes the line that has the loss, not the bar above it.
        new |= {"line": line, "text": text[:QUOTED]}
    return msgspec.structs.replace(last, **new) if new else last


def _point(said: Numbers, line: int, text: str) -> Point:
    # Field by field: a loop over their names takes ten times as long, and this is each step's.
    return Point(
        step=said.step,
        loss=said.loss,
        grad_norm=said.grad_norm,
        loss_scale=said.loss_scale if said.scale_to is None else said.scale_to,
        lr=said.lr,
        skipped=said.skipped,
        step_ms=said.step_ms,
        rate=said.rate,
        forward_ms=said.forward_ms,
        backward_ms=said.backward_ms,
        data_ms=said.data_ms,
        sync_ms=said.sync_ms,
        sync_least_ms=said.sync_least_ms,
        gather_ms=said.gather_ms,
        bus_gb_s=said.bus_gb_s,
        served=said.served,
        batch=said.batch,
        lost=said.lost,
        rewarded=said.rewarded,
        line=line,
        text=text[:QUOTED],
    )


def _failed(point: Point) -> bool:
    bad = (point.loss, point.grad_norm)
    return point.lost or bool(point.skipped) or any(v is not None and not _finite(v) for v in bad)


def _finite(value: float) -> bool:
    return math.isfinite(value)
