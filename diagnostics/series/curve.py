"""The numbers of one run in their order, bounded, with the lines that matter quoted."""

from collections import Counter, deque
from operator import itemgetter

import msgspec

from diagnostics.rules import prefix
from diagnostics.rules.line import decoded
from diagnostics.series.beside import Beside
from diagnostics.series.by_rank import Elsewhere, RankTimes
from diagnostics.series.configuration import Configuration
from diagnostics.series.drawn import Drawn, Laggard, Quote
from diagnostics.series.frameworks import named
from diagnostics.series.lines import numbers
from diagnostics.series.point import Point
from diagnostics.series.waiting import SKIPS, SKIPS_NONE, Lines, Sort, Unread

MOST_POINTS = 20_000
# Lines that a rule finds notable are read out of turn, up to so many.
MOST_NOTABLE = 1_000
# The first steps are looked at for the words of a framework.
FIRST = 20

# Fewer lines are put to those that came before.
FEW = 256
# Of lines that wait to be read no more bytes are kept.
ROOM = 16 << 20
# What NCCL tells of itself is long and has no step: each rank of a large job says it once or twice.
NCCL_TELLS = b" NCCL INFO "
MOST_SETTINGS = 16_384

__all__ = ["Curve", "Drawing", "Point", "Quote"]


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The steps of a log: of the older ones each `every`th line was read, the last all.

    `count` is how many steps there were, where `every` is above 1 about so. `bad` steps have a
    loss that is not finite; the first and the last of them are quoted. `finite` quotes the last
    finite loss, `timed` the last step time, `synced` the last gradient-sync time. `ranks` has the
    last times of each rank, where one log has several, `laggards` what a framework's own report
    says of the slowest. `framework` wrote the log; `settings` are what it was started with.
    `elsewhere` is who else printed the first step whose loss is no number, `still` are the ranks
    of which it is none in the last step.
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
    elsewhere: Elsewhere | None = None
    still: tuple[int, ...] = ()


class Chosen(msgspec.Struct, frozen=True):
    """A line that is to be read; `place` is which of its kind it is, 0 where it always is."""

    number: int
    raw: bytes
    sort: Sort
    place: int


class Drawing:
    """Takes number lines in their order and keeps what a Curve holds.

    Lines wait unread until so many newer ones came; then each `every`th of a kind is read, and
    each that is notable. The others are hardly touched.
    """

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._most = most
        self._waiting: deque[Lines] = deque()
        self._count = 0
        self._past = Drawn()
        self._chosen: list[Chosen] = []
        self._chosen_of: Counter[int] = Counter()
        self._room = ROOM
        self._every = 1
        self._kinds: Counter[int] = Counter()
        self._told = 0
        self._notable = 0
        self._unread = Unread()
        self._beside = Beside()
        self._head = ""

    def head(self, head: bytes) -> None:
        """Take the beginning of the log, which says who writes it."""
        self._head = decoded(head)

    def take(self, new: Lines) -> None:
        """Take some lines; what they are cut into makes no difference."""
        waiting = self._waiting
        self._count += len(new.raws)
        if waiting and len(waiting[-1].raws) + len(new.raws) <= FEW:
            waiting[-1].extend(new)
        else:
            waiting.append(new)
        while self._count - len(waiting[0].raws) >= self._most:
            self._leave(waiting.popleft())

    def _leave(self, lines: Lines) -> None:
        """Choose which of the lines are read, now that so many newer ones came."""
        self._count -= len(lines.raws)
        self._beside.leave(lines)
        sorts, (_, notable) = lines.sorts, lines.sorts[0]
        if lines.skips or (notable and self._notable < MOST_NOTABLE):
            self._each(lines)
        elif sorts.count(sorts[0]) == len(sorts):
            self._alike(lines)
        elif any(map(itemgetter(1), sorts)):
            self._each(lines)
        else:
            self._by_kind(lines)

    def _each(self, lines: Lines) -> None:
        kinds, unread = self._kinds, list[bytes]()
        for number, raw, sort in zip(lines.numbers, lines.raws, lines.sorts, strict=True):
            place = kinds[sort[0]]
            kinds[sort[0]] = place + 1
            if not place % self._every:
                self._keep(Chosen(number, raw, sort, place))
            elif sort[1] or (lines.skips and SKIPS in raw and SKIPS_NONE not in raw):
                # Read out of turn, unless there were too many.
                if self._notable < MOST_NOTABLE:
                    self._notable += 1
                    self._keep(Chosen(number, raw, sort, 0))
                else:
                    unread.append(raw)
        self._unread.add(unread)

    def _alike(self, lines: Lines) -> None:
        """Choose among lines of one sort, of which none is read out of turn any more."""
        sort, raws = lines.sorts[0], lines.raws
        kind, notable = sort
        place = self._kinds[kind]
        self._kinds[kind] += len(raws)
        turns = range(-place % self._every, len(raws), self._every)
        kept = self._keep_all(
            [Chosen(lines.numbers[at], raws[at], sort, place + at) for at in turns]
        )
        if notable:
            self._unread.add(raws, lines.shapes)
            self._unread.less([one.raw for one in kept])

    def _by_kind(self, lines: Lines) -> None:
        """Choose among lines of several sorts, of which none is notable."""
        places: dict[int, list[int]] = {}
        for at, (kind, _) in enumerate(lines.sorts):
            if kind in places:
                places[kind].append(at)
            else:
                places[kind] = [at]
        turns: list[tuple[int, int]] = []
        for kind, ats in places.items():
            place = self._kinds[kind]
            self._kinds[kind] += len(ats)
            turns += (
                (ats[n], place + n) for n in range(-place % self._every, len(ats), self._every)
            )
        numbers, raws, sorts = lines.numbers, lines.raws, lines.sorts
        self._keep_all(
            [Chosen(numbers[at], raws[at], sorts[at], place) for at, place in sorted(turns)]
        )

    def _keep_all(self, turns: list[Chosen]) -> list[Chosen]:
        """Take lines whose turn it is, as long as it is; return those that were taken."""
        counts = Counter([one.sort[0] for one in turns])
        room = self._room - sum([len(one.raw) for one in turns])
        most = max((self._chosen_of[kind] + n for kind, n in counts.items()), default=0)
        over = room < 0 or len(self._past.points) + most > self._most
        if not over and not any(NCCL_TELLS in one.raw for one in turns):
            # As one by one, for nothing has to make room.
            self._chosen += turns
            self._chosen_of += counts
            self._room = room
            return turns
        kept: list[Chosen] = []
        for one in turns:
            # Its turn can pass while others are taken.
            if not one.place % self._every:
                self._keep(one)
                kept.append(one)
        return kept

    def _keep(self, one: Chosen) -> None:
        """Take a line that is read unless, before anybody asks, others have to make room."""
        if NCCL_TELLS in one.raw:
            self._told += 1
            if self._told <= MOST_SETTINGS:
                _read(one.number, one.raw, self._past)
            return
        self._chosen.append(one)
        self._chosen_of[one.sort[0]] += 1
        self._room -= len(one.raw)
        if self._room < 0 and self._every == 1 and len(self._chosen) <= self._most:
            # They are no more than may be read, only long.
            self._read_chosen()
        steps = len(self._past.points) + self._chosen_of[one.sort[0]]
        if steps > self._most or self._room < 0:
            self._thin()

    def _read_chosen(self) -> None:
        for one in self._chosen:
            _read(one.number, one.raw, self._past)
        self._clear()

    def _thin(self) -> None:
        self._every *= 2
        chosen, every = self._chosen, self._every
        self._past.thin(grows=not chosen)
        self._clear()
        for one in chosen:
            if not one.place % every:
                self._chosen.append(one)
                self._chosen_of[one.sort[0]] += 1
                self._room -= len(one.raw)
        self._unread.add([one.raw for one in chosen if one.place % every and one.sort[1]])

    def _clear(self) -> None:
        self._chosen = []
        self._chosen_of.clear()
        self._room = ROOM

    def curve(self) -> Curve:
        """Return what was drawn: whole steps, or their passes where no whole step is timed."""
        if self._count > self._most:
            left, self._waiting[0] = self._waiting[0].parted(self._count - self._most)
            self._leave(left)
        self._read_chosen()
        drawn = self._past.copy()
        older = len(drawn.points)
        for lines in self._waiting:
            for number, raw in zip(lines.numbers, lines.raws, strict=True):
                _read(number, raw, drawn)
        count = older * self._every + len(drawn.points) - older
        return Curve(
            points=drawn.steps(),
            every=self._every,
            count=count or len(drawn.micro),
            bad=drawn.bad + self._unread.bad,
            ranks=drawn.by_rank.times(),
            elsewhere=self._beside.elsewhere(self._waiting) or drawn.by_rank.elsewhere(),
            still=drawn.by_rank.still(),
            laggards=tuple(drawn.laggards),
            framework=named(self._head, *(point.text or "" for point in drawn.points[:FIRST])),
            settings=drawn.settings.configuration(),
            **drawn.quotes(),
        )


def _read(number: int, raw: bytes, drawn: Drawn) -> None:
    text = decoded(raw)
    said = None if NCCL_TELLS in raw else numbers(text)
    if said is not None:
        drawn.add(said, number, text, prefix.rank(text))
    else:
        drawn.settings.take(text, number)
