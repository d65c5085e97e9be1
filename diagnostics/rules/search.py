"""Search one line that an anchor hit: whose line it is, and which rules hold for it."""

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec

from diagnostics.rules import prefix
from diagnostics.rules.above import VALUE, Above
from diagnostics.rules.fold import Fold, Run
from diagnostics.rules.form import Form, by_kernel
from diagnostics.rules.kernel_seen import KernelSymptoms
from diagnostics.rules.kernel_text import KernelText, whole
from diagnostics.rules.knowledge import Knowledge, Plan
from diagnostics.rules.line import Line, decoded
from diagnostics.rules.rule import Rule
from diagnostics.rules.stamp import INSIDE, STAMP
from diagnostics.rules.traceback import Raised, Tracebacks
from diagnostics.rules.when import LOOKED_AT, When

# The driver's sentence of a dead GPU stands in three lines; the last of them holds the anchor.
LINES_ABOVE = 2
# The bytes of a line that show whether it goes on with the one above.
GOING_ON = 40


class Counting(Protocol):
    """What a line counts for."""

    def again(self, number: int, head: bytes, times: int = 1) -> None:
        """Count one more line, or more up to it; *head* is its beginning with its time."""
        ...


class Place(msgspec.Struct, frozen=True):
    """Where a line stands: its number, and its span in a piece up to the cap."""

    piece: bytes
    start: int
    stop: int
    number: int

    def stamped(self) -> tuple[re.Match[bytes] | None, int]:
        """Return its stamp, and where the text behind it begins."""
        found = STAMP.match(self.piece, self.start, self.stop)
        return (found, found.end()) if found and found.lastgroup else (None, self.start)

    def above(self) -> list[str]:
        """Return the texts of the lines above it in the piece, without their stamps."""
        return self._above(LINES_ABOVE)

    def writer(self, text: str) -> int | None:
        """Return the rank that began the message that this line goes on with, None if none did."""
        if not prefix.GOES_ON.match(text):
            return None
        for above in reversed(self._above(prefix.LINES_OF_MESSAGE)):
            if (rank := prefix.rank(above)) is not None:
                return rank
            if not prefix.GOES_ON.match(above):
                return None
        return None

    def _above(self, most: int) -> list[str]:
        texts: list[str] = []
        start = self.start
        while start and len(texts) < most:
            stop = start - 1
            start = self.piece.rfind(b"\n", 0, stop) + 1
            _, at = Place(self.piece, start, stop, 0).stamped()
            texts.insert(0, decoded(self.piece[at : min(stop, at + LOOKED_AT)]))
        return texts


class Search:
    """The hits of one log, found line by line."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.fold = Fold()
        self.kernel = KernelText()
        self._tracebacks = Tracebacks()
        # What a tool prints in a job's log is read line by line, as all else there.
        self._above = Above() if form == "other" else None

    def begin(self, piece: bytes, number: int, known: Knowledge) -> None:
        """Go on with what the piece before did not end; *number* is this one's first line."""
        self._raised(self._tracebacks.more(piece, number), known)

    def line(self, place: Place, plan: Plan, known: Knowledge) -> tuple[Counting, ...] | None:
        """Count a line, and return what each line with its text counts for.

        None where a line with the same text can count for something else.
        """
        if plan.traceback and self.form not in ("bare", "system"):
            self._raised(self._tracebacks.head(place.piece, place.start, place.number), known)
            return None
        if self.form == "training":
            counted = self._text(plan.rules, plan.ends, place)
            # What goes on with another line counts for whoever wrote that one.
            goes_on = prefix.GOES_ON.match(
                decoded(place.piece[place.start : place.stop][:GOING_ON])
            )
            return None if goes_on else counted
        found, at = place.stamped()
        kernel = by_kernel(self.form, found)
        if not kernel and self.form == "system":
            inside = INSIDE.match(place.piece, place.start, place.stop)
            kernel, at = inside is not None, inside.end() if inside else at
        if not kernel:
            return self._printed(plan, place)
        text = decoded(place.piece[at : place.stop])
        sentence = whole(text, place.above()) if text.startswith("NVRM: fallen") else text
        if plan.card:
            self.kernel.card(place.number, text)
        head = place.piece[place.start : min(place.stop, place.start + LOOKED_AT)]
        counting: list[Counting] = []
        if plan.kernel or plan.kernel_ends:
            counting += self.kernel.take(
                plan.kernel, plan.kernel_ends, place.number, sentence, head
            )
        counting += self._text(_any(plan.rules), _any(plan.ends), place)
        same = not plan.card and not any(rule.match(text) for rule in plan.latest)
        return tuple(counting) if same and sentence is text else None

    def _printed(self, plan: Plan, place: Place) -> tuple[Counting, ...] | None:
        """Count a line of a program; what a tool says can need what stands above it."""
        if self._above is None:
            return self._text(plan.rules, plan.ends, place)
        line = Line(place.number, decoded(place.piece[place.start : place.stop]))
        told = self._above.told(line)
        counting = self._text(plan.rules, plan.ends, place, told)
        return None if plan.above or told is not line.text else counting

    def for_nothing(self, plan: Plan, line: bytes) -> bool:
        """Return whether a line surely counts for nothing, by the words that rules need."""
        if self.form != "training" or plan.ends or plan.traceback or not line.isascii():
            return False
        for word in plan.words:  # noqa: SIM110 - asked of millions of lines: any() takes thrice as long
            if word in line:
                return False
        return True

    def ordered(self, plan: Plan) -> bool:
        """Return whether other lines count differently before such a line and after it."""
        return bool(plan.ends) or (self._above is not None and plan.above)

    def alone(self) -> None:
        """Note that lines are counted, none of which belongs to what stands above it."""
        if self._above is not None:
            self._above.alone()

    def by_shape(self, plan: Plan, line: bytes) -> bool:
        """Return whether lines of its shape count for the same, wherever they stand."""
        if self._above is None or not plan.searched:
            return True
        found = STAMP.match(line)
        # Only a facility is told by digits.
        told = found is not None and (found["kmsg"] or found["level"])
        kernel = by_kernel(self.form, found if found and found.lastgroup else None)
        return not (told or kernel or plan.above or VALUE.match(decoded(line)))

    def by_kernel(self, name: str, lines: int, end: When) -> KernelSymptoms | None:
        """Return what the kernel's lines say; None in a log that holds none."""
        seen = self.kernel.seen(name, lines, end)
        return seen if seen.hits or self.form in ("system", "bare") else None

    def finish(self, known: Knowledge) -> None:
        """Count what can be told only when the log has ended."""
        if self._above is None:
            return
        for told in self._above.late():
            for _, _, held in known.anchors.hits(told.text.encode("utf-8", "replace")):
                for rule in known.plan(held).rules:
                    if run := self.fold.take(rule, told.line, told.text):
                        run.again(told.line.number, b"")
        self._above = None

    def _raised(self, raised: Raised | None, known: Knowledge) -> None:
        """Count an exception by what its traceback says, unless a rule knows its own line."""
        if raised is None:
            return
        line = raised.line
        for _, _, held in known.anchors.hits(line.text.encode("utf-8", "replace") + b"\n"):
            if any(rule.match(line.text) and not rule.weak for rule in known.plan(held).rules):
                return
        head = line.text[:LOOKED_AT].encode("utf-8", "replace")
        for _, _, held in known.anchors.hits(raised.told.encode("utf-8", "replace")):
            for rule in known.plan(held).rules:
                if run := self.fold.take(rule, line, raised.told):
                    run.again(line.number, head)
                    self._tracebacks.note(line.number)
                    return

    def _place(self, run: Run, number: int) -> None:
        """Add where in the program's own code the exception of a line was raised."""
        if frame := self._tracebacks.frame(number):
            run.values = {
                **run.values,
                "file": frame.file,
                "at": frame.line,
                "function": frame.function,
            }

    def _text(
        self, rules: Sequence[Rule], ends: Sequence[Rule], place: Place, told: str | None = None
    ) -> tuple[Counting, ...]:
        if (not rules and not ends) or self._tracebacks.ignored(place.number):
            return ()
        text = decoded(place.piece[place.start : place.stop])
        said = text if told is None else told
        rules = [rule for rule in rules if rule.needed in said]
        if not rules and not ends:
            return ()
        line = Line(place.number, text, place.writer(text))
        head = place.piece[place.start : min(place.stop, place.start + LOOKED_AT)]
        counting: list[Counting] = []
        for rule in sorted(rules, key=_weak) if len(rules) > 1 else rules:
            if rule.weak and (counting or self._tracebacks.noted(place.number)):
                break
            if run := self.fold.take(rule, line, told):
                if not run.count:
                    self._place(run, place.number)
                run.again(place.number, head)
                counting.append(run)
        for rule in ends:
            if end := self.fold.taken_end(rule, line):
                end.again(place.number, head)
                counting.append(end)
        return tuple(counting)


def _weak(rule: Rule) -> bool:
    return rule.weak


def _any(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules that hold for lines of the kernel too."""
    return [rule for rule in rules if rule.source == "any"]
