"""Read a whole log in one pass: symptoms for the rules, number lines for the curve."""

import re

from collectors.facts.observation import Missing
from diagnostics.rules.form import HEAD, form
from diagnostics.rules.knowledge import Knowledge
from diagnostics.rules.line import LINE_CAP, decoded, plain
from diagnostics.rules.search import Counting, Place, Search
from diagnostics.rules.seen import LogSeen
from diagnostics.rules.stamp import STAMP, hand
from diagnostics.rules.when import When, when
from diagnostics.series.curve import Drawing
from diagnostics.series.lines import numbers

# Texts that came lately, with what they count for: a line that repeats is not searched again.
MOST_TEXTS = 4_096
LONGEST_TEXT = 1_000

# Where a line bears one of these stamps, that alone says whose line it is.
TELLING = frozenset({"bsd", "since", "local", "delta", "tag", None})

# How much of a log's end is kept, to see when it ended.
TAIL = 4_096

# What differs between Xids of one kind on one GPU and tells nothing of what they are.
XID = b"NVRM: Xid ("
PASSING = re.compile(
    rb"pid='?\d{1,10}'?|name=[^,\n]{1,64}|Ch(?:annel ID)? [0-9a-f]{8}|intr [0-9a-f]{8}"
    rb"|@ 0x[0-9a-f_]{1,20}|physAddr 0x[0-9a-f]{1,16}"
)

Text = tuple[str | None, str | None, bytes]


class Reading:
    r"""One log being read: feed it pieces that end with `\n`, then take what was seen."""

    def __init__(self, knowledge: Knowledge, name: str, *, first_line: int = 1) -> None:
        self._knowledge = knowledge
        self._name = name
        self._first_line = first_line
        self._line = first_line
        self._whole = True
        self._head = b""
        self._tail = b""
        self._search: Search | None = None
        self._texts: dict[Text, tuple[Counting, ...]] = {}
        self._drawing = Drawing()

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

    def _begin(self) -> Search:
        head, self._head = self._head, b""
        search = self._search = Search(form(head))
        self._scan(head, search)
        return search

    def _scan(self, piece: bytes, search: Search) -> None:
        number, known, texts = self._line, 0, self._texts
        plan_of, stamp = self._knowledge.plan, STAMP.match
        for start, end, held in self._knowledge.anchors.hits(piece):
            plan = plan_of(held)
            number += piece.count(b"\n", known, start)
            known = start
            stop = min(end, start + LINE_CAP)
            if plan.searched:
                found = stamp(piece, start, stop)
                at = found.end() if found else start
                line = piece[at:stop]
                if line.startswith(XID):
                    line = PASSING.sub(b"", line)
                group = found.lastgroup if found else None
                whose = None if group in TELLING and not (found and found["level"]) else hand(found)
                text = (group, whose, line)
                counting = texts.get(text)
                if counting is None:
                    self._remember(text, search.line(Place(piece, start, stop, number), plan))
                else:
                    head = piece[start:at]
                    for one in counting:
                        one.again(number, head)
            if plan.numbers and (said := numbers(shown := decoded(piece[start:stop]))):
                self._drawing.add(said, number, shown)
        self._line = number + piece.count(b"\n", known)
        self._tail = (self._tail + piece)[-TAIL:] if len(piece) < TAIL else piece[-TAIL:]

    def _remember(self, text: Text, counting: tuple[Counting, ...] | None) -> None:
        if counting is None or len(text[2]) > LONGEST_TEXT:
            return
        if len(self._texts) >= MOST_TEXTS:
            self._texts.clear()
        self._texts[text] = counting

    def seen(self, cut: Missing | None = None) -> LogSeen:
        """Return what the log said; *cut* is why its rest could not be read."""
        search = self._search or self._begin()
        search.finish(self._knowledge)
        lines = self._line - self._first_line + (not self._whole)
        return LogSeen(
            name=self._name,
            lines=lines,
            first_line=self._first_line,
            hits=search.fold.hits(),
            kernel=search.by_kernel(self._name, lines, self._ended()),
            curve=self._drawing.curve(),
            cut=cut,
        )

    def _ended(self) -> When:
        """Return the time of the last line that carries one."""
        for line in reversed(self._tail.split(b"\n")):
            told = when(line)
            if told != When():
                return told
        return When()
