"""The numbers of one run in their order, bounded, with the lines that matter quoted."""

from collections import Counter, deque

import msgspec

from diagnostics.rules.line import Line, decoded
from diagnostics.series.drawn import Drawn, Laggard, Quote, RankTimes
from diagnostics.series.lines import numbers
from diagnostics.series.point import Point

MOST_POINTS = 20_000
# Of a number line no more than this is kept; the longest of DeepSpeed's has 1,500.
LONGEST = 2_000
# Lines that a rule finds notable are read out of turn, up to so many.
MOST_NOTABLE = 1_000

__all__ = ["Curve", "Drawing", "Point", "Quote"]


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The steps of a log: of the older ones each `every`th line was read, the last all.

    `count` is how many steps there were, where `every` is above 1 about so. `bad` steps have a
    loss that is not finite; the first and the last of them are quoted. `finite` quotes the last
    finite loss, `timed` the last step time, `synced` the last gradient-sync time. `ranks` has the
    last times of each rank, where one log has several, `laggards` what a framework's own report
    says of the slowest.
    """

    points: tuple[Point, ...] = ()
    every: int = 1
    count: int = 0
    bad: int = 0
    first_bad: Quote | None = None
    last_bad: Quote | None = None
    finite: Quote | None = None
    timed: Quote | None = None
    synced: Quote | None = None
    ranks: tuple[RankTimes, ...] = ()
    laggards: tuple[Laggard, ...] = ()


class Waiting(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A number line that is not read yet; lines of one kind are held by the same anchors."""

    number: int
    raw: bytes
    kind: int
    notable: bool


class Drawing:
    """Takes number lines one by one and keeps what a Curve holds.

    Lines wait unread until so many newer ones came; then each `every`th of a kind is read.
    """

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._most = most
        self._waiting: deque[Waiting] = deque()
        self._past = Drawn()
        self._every = 1
        self._kinds: Counter[int] = Counter()
        self._notable = 0

    def line(self, number: int, raw: bytes, kind: int = 0, *, notable: bool = False) -> None:
        """Take a line as it stands in the log, without its end."""
        self._waiting.append(Waiting(number, raw[:LONGEST], kind, notable))
        if len(self._waiting) > self._most:
            self._leave(self._waiting.popleft())

    def _leave(self, one: Waiting) -> None:
        """Read a line that is among the last no more, if it is one of those that are kept."""
        place = self._kinds[one.kind]
        self._kinds[one.kind] = place + 1
        if place % self._every:
            # 'skipped iterations:   0' stands in each line of Megatron's.
            notable = one.notable or (
                b"skipped iterations" in one.raw and b"skipped iterations:   0" not in one.raw
            )
            if not notable or self._notable >= MOST_NOTABLE:
                return
            self._notable += 1
        _read(one, self._past)
        if len(self._past.points) > self._most:
            self._past.thin()
            self._every *= 2

    def curve(self) -> Curve:
        """Return what was drawn: whole steps, or their passes where no whole step is timed."""
        drawn = self._past.copy()
        older = len(drawn.points)
        for one in self._waiting:
            _read(one, drawn)
        count = older * self._every + len(drawn.points) - older
        return Curve(
            points=drawn.steps(),
            every=self._every,
            count=count or len(drawn.micro),
            bad=drawn.bad,
            ranks=drawn.ranks(),
            laggards=tuple(drawn.laggards),
            **drawn.quotes(),
        )


def _read(one: Waiting, drawn: Drawn) -> None:
    text = decoded(one.raw)
    said = numbers(text)
    if said is not None:
        drawn.add(said, one.number, text, Line(one.number, text).rank)
