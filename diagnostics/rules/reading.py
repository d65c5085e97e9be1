"""Read a whole log in one pass: symptoms for the rules, number lines for the curve."""

from collections.abc import Sequence

from collectors.facts.observation import Missing
from diagnostics.rules.anchors import Anchors
from diagnostics.rules.fold import Fold
from diagnostics.rules.line import Line, decoded, plain
from diagnostics.rules.rule import Rule
from diagnostics.rules.seen import LogSeen
from diagnostics.series.curve import Drawing
from diagnostics.series.lines import ANCHORS, numbers


class Knowledge:
    """All rules with their compiled anchors; made once, used for any number of logs."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self.anchors = Anchors([*(rule.anchor for rule in rules), *ANCHORS])


class Reading:
    r"""One log being read: feed it pieces that end with `\n`, then take what was seen."""

    def __init__(self, knowledge: Knowledge, name: str, *, first_line: int = 1) -> None:
        self._knowledge = knowledge
        self._name = name
        self._first_line = first_line
        self._line = first_line
        self._whole = True
        self._fold = Fold()
        self._drawing = Drawing()

    def feed(self, piece: bytes) -> None:
        """Read one piece; nothing of it is kept but first lines and numbers."""
        if piece:
            self._whole = piece.endswith(b"\n")
        piece = plain(piece)
        known = 0
        for found in self._knowledge.anchors.lines(piece):
            self._line += piece.count(b"\n", known, found.start)
            known = found.start
            self._judge(Line(self._line, decoded(found.line)), found.anchors)
        self._line += piece.count(b"\n", known)

    def _judge(self, line: Line, anchors: Sequence[int]) -> None:
        rules = self._knowledge.rules
        for anchor in anchors:
            if anchor < len(rules):
                self._fold.add(rules[anchor], line)
        if max(anchors) >= len(rules) and (said := numbers(line.text)):
            self._drawing.add(said, line.number, line.text)

    def seen(self, cut: Missing | None = None) -> LogSeen:
        """Return what the log said; *cut* is why its rest could not be read."""
        return LogSeen(
            name=self._name,
            lines=self._line - self._first_line + (not self._whole),
            first_line=self._first_line,
            hits=self._fold.hits(),
            curve=self._drawing.curve(),
            cut=cut,
        )
