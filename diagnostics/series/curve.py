"""The numbers of one run in their order, bounded, with the lines that matter quoted."""

from collections import Counter, deque
from collections.abc import Iterable

import msgspec

from diagnostics.rules.line import Line, decoded
from diagnostics.series.configuration import Configuration
from diagnostics.series.drawn import Drawn, Laggard, Quote, RankTimes
from diagnostics.series.frameworks import named
from diagnostics.series.lines import numbers
from diagnostics.series.point import Point

MOST_POINTS = 20_000
# Of a number line no more than this is kept; the longest of DeepSpeed's has 1,500.
LONGEST = 2_000
# Lines that a rule finds notable are read out of turn, up to so many.
MOST_NOTABLE = 1_000
# The first steps are looked at for the words of a framework.
FIRST = 20

# A number line that is not read yet: its number, its text, what kind of line it is (the anchors it
# holds), and whether a rule finds it notable.
Waiting = tuple[int, bytes, int, bool]

__all__ = ["Curve", "Drawing", "Point", "Quote"]


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The steps of a log: of the older ones each `every`th line was read, the last all.

    `count` is how many steps there were, where `every` is above 1 about so. `bad` steps have a
    loss that is not finite; the first and the last of them are quoted. `finite` quotes the last
    finite loss, `timed` the last step time, `synced` the last gradient-sync time. `ranks` has the
    last times of each rank, where one log has several, `laggards` what a framework's own report
    says of the slowest. `framework` wrote the log; `settings` are what it was started with.
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
    framework: str | None = None
    settings: Configuration = Configuration()


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
        self._head = ""

    def head(self, head: bytes) -> None:
        """Take the beginning of the log, which says who writes it."""
        self._head = decoded(head)

    def line(self, number: int, raw: bytes, kind: int = 0, *, notable: bool = False) -> None:
        """Take a line as it stands in the log, without its end."""
        self.lines(((number, raw[:LONGEST], kind, notable),))

    def lines(self, new: Iterable[Waiting]) -> None:
        """Take lines in their order."""
        self._waiting.extend(new)
        kinds, leave = self._kinds, self._waiting.popleft
        for _ in range(len(self._waiting) - self._most):
            one = leave()
            kind = one[2]
            place = kinds[kind]
            kinds[kind] = place + 1
            if not place % self._every or self._noted(one):
                self._keep(one)

    def _noted(self, one: Waiting) -> bool:
        """Return whether a line is kept out of turn."""
        _, raw, _, notable = one
        # 'skipped iterations:   0' stands in each line of Megatron's.
        skips = b"skipped iterations" in raw and b"skipped iterations:   0" not in raw
        noted = (notable or skips) and self._notable < MOST_NOTABLE
        self._notable += noted
        return noted

    def _keep(self, one: Waiting) -> None:
        """Read a line that is among the last no more."""
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
            framework=named(self._head, *(point.text or "" for point in drawn.points[:FIRST])),
            settings=drawn.settings.configuration(),
            **drawn.quotes(),
        )


def _read(one: Waiting, drawn: Drawn) -> None:
    number, raw, _, _ = one
    text = decoded(raw[:LONGEST])
    said = numbers(text)
    if said is not None:
        drawn.add(said, number, text, Line(number, text).rank)
    else:
        drawn.settings.take(text, number)
