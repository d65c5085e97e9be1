"""Read a whole log in one pass: symptoms for the rules, number lines for the curve."""

from functools import cached_property
from itertools import accumulate

from collectors.facts.observation import Missing
from diagnostics.rules.dense import Kind, kinds
from diagnostics.rules.form import HEAD, form
from diagnostics.rules.knowledge import Knowledge, Plan
from diagnostics.rules.learning import Learning, Piece
from diagnostics.rules.line import LINE_CAP, plain
from diagnostics.rules.rest import rest
from diagnostics.rules.search import Counting, Place, Search
from diagnostics.rules.seen import LogSeen
from diagnostics.rules.tally import Tally
from diagnostics.rules.text import Text, line_ends, repeats, split, split_alike, text_of
from diagnostics.rules.when import ended
from diagnostics.series.curve import MOST_POINTS, Drawing
from diagnostics.series.forms.number import ZEROS
from diagnostics.series.waiting import LONGEST, Lines, Sort

# Texts that came lately, with what they count for: a line that repeats is not searched again.
MOST_TEXTS = 4_096
LONGEST_TEXT = 1_000

# In logs of programs lines are known by their shapes, in the kernel's by their kinds.
JOBS = frozenset({"training", "other"})

# How much of a log's end is kept, to see when it ended.
TAIL = 4_096

# Where this share of a piece's lines was seen before, the next piece is read by kinds of lines.
DENSE = 0.3

# Where more than this share is new, lines are read one by one again.
NEW = 0.6


class Reading:
    r"""One log being read: feed it pieces that end with `\n`, then take what was seen."""

    def __init__(
        self,
        knowledge: Knowledge,
        name: str,
        *,
        first_line: int = 1,
        most_points: int = MOST_POINTS,
    ) -> None:
        self._knowledge = knowledge
        self._name = name
        self._first_line = first_line
        self._line = first_line
        self._whole = True
        self._dense = False
        self._head = b""
        self._tail = b""
        self._search: Search | None = None
        self._texts: dict[Text, tuple[Counting, ...]] = {}
        self._kinds: dict[tuple[str | None, bytes], tuple[Counting, ...]] = {}
        self._drawing = Drawing(most_points)

    @cached_property
    def _learning(self) -> Learning:
        # Most logs are not dense, and what digits the anchors ask for takes 10 ms to see.
        return Learning(self._knowledge, self._take)

    def feed(self, piece: bytes) -> None:
        """Read one piece; nothing of it is kept but first lines and numbers."""
        if not piece:
            return
        self._whole = piece.endswith(b"\n")
        piece = plain(piece)
        if self._search is not None:
            self._scan(piece, self._search)
            return
        # What the log is decides how its first line is read.
        self._head += piece
        if len(self._head) >= HEAD:
            self._begin()

    def end_line(self) -> None:
        """Take the last line as whole: what is fed next is of another file."""
        if not self._whole:
            self.feed(b"\n")

    def _begin(self) -> Search:
        head, self._head = self._head, b""
        search = self._search = Search(form(head))
        self._drawing.head(head)
        self._scan(head, search)
        return search

    def _scan(self, piece: bytes, search: Search) -> None:
        self._tail = (self._tail + piece)[-TAIL:] if len(piece) < TAIL else piece[-TAIL:]
        search.begin(piece, self._line, self._knowledge)
        if self._dense and search.form in JOBS:
            self._by_shape(piece, search)
        elif not (self._dense and (found := kinds(piece)) and self._by_kind(piece, found, search)):
            self._by_line(piece, search)

    def _by_line(self, piece: bytes, search: Search) -> None:
        """Read each line that holds an anchor."""
        number, known, again = self._line, 0, 0
        hits = self._knowledge.anchors.hits(piece)
        drawn: list[tuple[int, bytes, Sort]] = []
        for start, end, held in hits:
            plan = self._knowledge.plan(held)
            number += piece.count(b"\n", known, start)
            known = start
            stop = min(end, start + LINE_CAP)
            if plan.searched:
                _, came = self._take(Place(piece, start, stop, number), plan, search)
                again += came
            if plan.numbers:
                raw = piece[start : min(stop, start + LONGEST)]
                drawn.append((number, raw, (held, plan.searched)))
        if drawn:
            numbers, raws, sorts = zip(*drawn, strict=True)
            self._drawing.take(Lines.of(list(numbers), list(raws), list(sorts)))
        if search.form in JOBS:
            again = len(hits)
        lines = line_ends(piece)
        self._line += lines
        self._dense = again > DENSE * lines

    def _by_shape(self, piece: bytes, search: Search) -> None:
        """Read a piece that is full of hits: lines of a shape that is known are only counted."""
        lines = split(piece)
        zeros, times = split_alike(piece.translate(ZEROS))
        tally = Tally(self._learning.shapes, zeros, times, lines)
        held = self._held(lines, tally.more)
        if any(search.ordered(self._knowledge.plan(one)) for one in set(held)):
            tally.drop()
            self._by_line(piece, search)
            return
        if tally.counted:
            search.alone()
        more = dict(zip(tally.more, held, strict=True))
        cut = Piece(piece, lines, zeros, self._line)
        learned = self._learning.learn(cut, more, search) if more else []
        tally.count(lines, self._line)
        if (drawn := tally.drawn(learned, lines, self._line)) is not None:
            self._drawing.take(drawn)
        self._line += len(lines)
        self._dense = len(tally.more) < NEW * len(lines)

    def _held(self, lines: list[bytes], more: list[int]) -> list[int]:
        """Return the sets of anchors that some lines hold."""
        if not more:
            return []
        text = b"\n".join([lines[at] for at in more])
        at_start = {start: held for start, _, held in self._knowledge.anchors.hits(text)}
        starts = accumulate((len(lines[at]) + 1 for at in more[:-1]), initial=0)
        return [at_start.get(start, 0) for start in starts]

    def _take(
        self, place: Place, plan: Plan, search: Search
    ) -> tuple[tuple[Counting, ...] | None, bool]:
        """Count one line; return what its text counts for, and whether it came lately.

        None where a line with the same text can count for something else.
        """
        text, at = text_of(place, stamped=search.form != "training")
        known = self._texts.get(text)
        if known is None:
            counting = search.line(place, plan, self._knowledge)
            if counting is not None and len(text[2]) <= LONGEST_TEXT:
                if len(self._texts) >= MOST_TEXTS:
                    self._texts.clear()
                self._texts[text] = counting
            return counting, False
        head = place.piece[place.start : at]
        for one in known:
            one.again(place.number, head)
        return known, True

    def _by_kind(self, piece: bytes, found: list[Kind], search: Search) -> bool:
        """Read a piece by its kinds of lines; False, and nothing read, where each line counts."""
        known = [self._kinds.get(kind.text) for kind in found]
        new = [kind for kind, counting in zip(found, known, strict=True) if counting is None]
        plans = self._plans(new)
        if not all(repeats(kind, plan) for kind in new if (plan := plans.get(kind.text))):
            self._dense = False
            return False
        if len(self._kinds) + len(new) > MOST_TEXTS:
            self._kinds.clear()
        for kind, counting in zip(found, known, strict=True):
            told, number = counting, self._line + kind.first
            if told is None:
                line, plan = kind.line, plans.get(kind.text)
                place = Place(line, 0, min(len(line), LINE_CAP), number)
                told = (self._take(place, plan, search)[0] or ()) if plan else ()
                if len(kind.text[1]) <= LONGEST_TEXT:
                    self._kinds[kind.text] = told
            else:
                for one in told:
                    one.again(number, kind.line[: kind.at])
            if kind.count > 1:
                for one in told:
                    one.again(self._line + kind.last, kind.last_line[: kind.at], kind.count - 1)
        self._line += line_ends(piece)
        return True

    def _plans(self, found: list[Kind]) -> dict[tuple[str | None, bytes], Plan]:
        """Return what is done with lines of the kinds that hold anchors."""
        if not found:
            return {}
        one_each = b"\n".join(kind.line for kind in found)
        starts = accumulate((len(kind.line) + 1 for kind in found[:-1]), initial=0)
        at_start = dict(zip(starts, found, strict=True))
        hits = self._knowledge.anchors.hits(one_each)
        return {at_start[start].text: self._knowledge.plan(held) for start, _, held in hits}

    @property
    def lines(self) -> int:
        """Return how many lines were fed so far."""
        begun = self._head.count(b"\n") if self._search is None else 0
        return self._line - self._first_line + begun + (not self._whole)

    def seen(self, cut: Missing | None = None) -> LogSeen:
        """Return what the log said; *cut* is why its rest could not be read."""
        search = self._search or self._begin()
        search.finish(self._knowledge)
        return self._told(search, cut)

    def now(self) -> LogSeen:
        """Return what the log says so far; what only its end can tell is left out."""
        if self._search is not None:
            return self._told(self._search)
        # What the log is will be known by more lines than these.
        begun = Reading(self._knowledge, self._name, first_line=self._first_line)
        begun.feed(self._head)
        return begun.seen()

    def _told(self, search: Search, cut: Missing | None = None) -> LogSeen:
        return LogSeen(
            name=self._name,
            lines=self.lines,
            first_line=self._first_line,
            hits=search.fold.hits(),
            kernel=search.by_kernel(self._name, self.lines, ended(self._tail)),
            curve=self._drawing.curve(),
            rest=rest(self._tail, self._first_line + self.lines - 1),
            cut=cut,
        )
