"""The numbers of one run in their order, bounded, with the lines that matter quoted."""

import math
from collections import Counter, deque

import msgspec

from diagnostics.rules.line import Line, decoded
from diagnostics.series.by_rank import Elsewhere, RankTimes
from diagnostics.series.configuration import Configuration
from diagnostics.series.drawn import Drawn, Laggard, Quote
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

# What sort of number line one is: the anchors it holds, and whether a rule finds it notable.
Sort = tuple[int, bool]
# Fewer lines are put to those that came before.
FEW = 256
# Of lines that wait to be read no more bytes are kept.
ROOM = 16 << 20
# Megatron has 'skipped iterations:   0' in each line.
SKIPS, SKIPS_NONE = b"skipped iterations", b"skipped iterations:   0"
# Lines that differ in digits alone have a finite loss or none of them has, unless as 1e999.
ZEROS = bytes.maketrans(b"123456789", b"000000000")
EXPONENTS = (b"e000", b"e+000", b"E000", b"E+000")
MOST_SHAPES = 1_000
# What NCCL tells of itself is long and has no step: each rank of a large job says it once or twice.
NCCL_TELLS = b" NCCL INFO "
MOST_SETTINGS = 16_384

__all__ = ["Curve", "Drawing", "Point", "Quote", "Sort"]


class Curve(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The steps of a log: of the older ones each `every`th line was read, the last all.

    `count` is how many steps there were, where `every` is above 1 about so. `bad` steps have a
    loss that is not finite; the first and the last of them are quoted. `finite` quotes the last
    finite loss, `timed` the last step time, `synced` the last gradient-sync time. `ranks` has the
    last times of each rank, where one log has several, `laggards` what a framework's own report
    says of the slowest. `framework` wrote the log; `settings` are what it was started with.
    `elsewhere` is who else printed the first step whose loss is no number.
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


class Lines(msgspec.Struct):
    """Number lines that are not read yet, in columns: their numbers, texts and sorts.

    `skips` is True where one may tell of a step that was left out.
    """

    numbers: list[int]
    raws: list[bytes]
    sorts: list[Sort]
    skips: bool

    def parted(self, at: int) -> tuple["Lines", "Lines"]:
        """Return the lines before *at*, and the others."""
        before = Lines(self.numbers[:at], self.raws[:at], self.sorts[:at], self.skips)
        return before, Lines(self.numbers[at:], self.raws[at:], self.sorts[at:], self.skips)

    def extend(self, other: "Lines") -> None:
        """Add later lines."""
        self.numbers += other.numbers
        self.raws += other.raws
        self.sorts += other.sorts
        self.skips = self.skips or other.skips


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
        self._head = ""

    def head(self, head: bytes) -> None:
        """Take the beginning of the log, which says who writes it."""
        self._head = decoded(head)

    def take(self, numbers: list[int], raws: list[bytes], sorts: list[Sort]) -> None:
        """Take some lines, without their ends; what they are cut into makes no difference."""
        if max(map(len, raws)) > LONGEST:
            raws = [raw[:LONGEST] for raw in raws]
        # Asked now, while they are in the processor's cache.
        text = b"\n".join(raws)
        skips = text.count(SKIPS) > text.count(SKIPS_NONE)
        new, waiting = Lines(numbers, raws, sorts, skips), self._waiting
        if waiting and len(waiting[-1].raws) + len(raws) <= FEW:
            waiting[-1].extend(new)
        else:
            waiting.append(new)
        self._count += len(raws)
        while self._count - len(waiting[0].raws) >= self._most:
            self._leave(waiting.popleft())

    def _leave(self, lines: Lines) -> None:
        """Choose which of the lines are read, now that so many newer ones came."""
        self._count -= len(lines.raws)
        sorts, (_, notable) = lines.sorts, lines.sorts[0]
        each = lines.skips or (notable and self._notable < MOST_NOTABLE)
        if each or sorts.count(sorts[0]) < len(sorts):
            self._each(lines)
        else:
            self._alike(lines)

    def _each(self, lines: Lines) -> None:
        kinds = self._kinds
        for number, raw, sort in zip(lines.numbers, lines.raws, lines.sorts, strict=True):
            place = kinds[sort[0]]
            kinds[sort[0]] = place + 1
            if not place % self._every:
                self._keep(Chosen(number, raw, sort, place))
            elif sort[1] or (SKIPS in raw and SKIPS_NONE not in raw):
                self._out_of_turn(number, raw, sort)

    def _alike(self, lines: Lines) -> None:
        """Choose among lines of one sort, of which none is read out of turn any more."""
        sort, raws = lines.sorts[0], lines.raws
        kind, notable = sort
        place, every = self._kinds[kind], self._every
        self._kinds[kind] += len(raws)
        first = -place % every
        for at in range(first, len(raws), every):
            # Its turn can pass while others are read.
            if not (place + at) % self._every:
                self._keep(Chosen(lines.numbers[at], raws[at], sort, place + at))
            elif notable:
                self._out_of_turn(lines.numbers[at], raws[at], sort)
        if notable:
            others = raws.copy()
            del others[first::every]
            self._unread.add(others)

    def _out_of_turn(self, number: int, raw: bytes, sort: Sort) -> None:
        """Read a line that matters, unless there were too many."""
        if self._notable < MOST_NOTABLE:
            self._notable += 1
            self._keep(Chosen(number, raw, sort, 0))
        else:
            self._unread.add([raw])

    def _keep(self, one: Chosen) -> None:
        """Take a line that is read unless, before anybody asks, others have to make room."""
        if NCCL_TELLS in one.raw:
            self._told += 1
            if self._told <= MOST_SETTINGS:
                _read(one.number, one.raw, self._past)
            return
        if self._every == 1:
            _read(one.number, one.raw, self._past)
        else:
            self._chosen.append(one)
            self._chosen_of[one.sort[0]] += 1
            self._room -= len(one.raw)
        steps = len(self._past.points) + self._chosen_of[one.sort[0]]
        if steps > self._most or self._room < 0:
            self._thin()

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
        for one in self._chosen:
            _read(one.number, one.raw, self._past)
        self._clear()
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
            elsewhere=drawn.by_rank.elsewhere(),
            laggards=tuple(drawn.laggards),
            framework=named(self._head, *(point.text or "" for point in drawn.points[:FIRST])),
            settings=drawn.settings.configuration(),
            **drawn.quotes(),
        )


class Unread:
    """Lines that are counted by whether their loss is finite, each shape read once."""

    def __init__(self) -> None:
        self.bad = 0
        self._known: dict[bytes, bool] = {}

    def add(self, raws: list[bytes]) -> None:
        """Count the lines."""
        if not raws:
            return
        shapes = b"\n".join(raws).translate(ZEROS).split(b"\n")
        times, raw_of = Counter(shapes), dict(zip(shapes, raws, strict=True))
        for shape, raw in raw_of.items():
            if any(word in shape for word in EXPONENTS):
                same = (one for one, of in zip(raws, shapes, strict=True) if of == shape)
                self.bad += sum(map(_bad, same))
            else:
                self.bad += times[shape] * self._bad(shape, raw)

    def _bad(self, shape: bytes, raw: bytes) -> bool:
        bad = self._known.get(shape)
        if bad is None:
            if len(self._known) >= MOST_SHAPES:
                self._known.clear()
            bad = self._known[shape] = _bad(raw)
        return bad


def _bad(raw: bytes) -> bool:
    said = numbers(decoded(raw))
    return said is not None and said.loss is not None and not math.isfinite(said.loss)


def _read(number: int, raw: bytes, drawn: Drawn) -> None:
    text = decoded(raw)
    said = None if NCCL_TELLS in raw else numbers(text)
    if said is not None:
        drawn.add(said, number, text, Line(number, text).rank)
    else:
        drawn.settings.take(text, number)
