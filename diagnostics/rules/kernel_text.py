"""Symptoms in lines of the kernel that stand in a file: dmesg, syslog, a journal's export."""

from collections.abc import Sequence

import msgspec

from collectors.facts.kernel_log import KernelLog, Record
from diagnostics.rules.kernel import OPENING, PIECES, cards, joined
from diagnostics.rules.kernel_fold import QUOTED, Fold, Key, amount
from diagnostics.rules.kernel_seen import KernelRule, KernelSymptoms, Moment
from diagnostics.rules.when import When, when

# What tells who a GPU is; the driver prints two such lines a GPU at its first Xid.
CARDS = ("NVRM: GPU at PCI:", "NVRM: GPU Board Serial Number")
MOST_CARDS = 1_000
EMPTY = KernelLog(records=(), source="syslog")


class Dated(Moment, frozen=True, kw_only=True):
    """A moment that is told by the beginning of its line; its age is known at the log's end."""

    head: bytes


class Run:
    """What one text of the kernel counts for; equal texts that follow only add to it."""

    __slots__ = ("_adds", "_fold", "count", "head", "key", "number", "text")

    def __init__(self, fold: "TextFold", key: Key, text: str, adds: int = 0) -> None:
        self._fold = fold
        self._adds = adds
        self.key = key
        self.text = text[:QUOTED]
        self.count = self.number = 0
        self.head = b""

    def again(self, number: int, head: bytes, times: int = 1) -> None:
        """Count one more line, or more up to it; *head* is its beginning with its time."""
        if not self.count:
            self._fold.pending.append(self)
        self.count += times
        self.number = number
        self.head = head
        if self._adds:
            self._fold.more(self.key, head, self._adds, times)


class End:
    """A text of the kernel that ends what a rule found before."""

    __slots__ = ("_fold", "_rule", "_text")

    def __init__(self, fold: "TextFold", rule: KernelRule, text: str) -> None:
        self._fold = fold
        self._rule = rule
        self._text = text

    def again(self, number: int, head: bytes, times: int = 1) -> None:
        """Note the end once more."""
        del head, times
        self._fold.settle()
        self._fold.end(self._rule, _record(number, self._text))


class TextFold(Fold):
    """The hits of one file; records are its lines, and their times are what the lines say."""

    def __init__(self) -> None:
        super().__init__(EMPTY)
        self.pending: list[Run] = []
        self._head = b""

    def take(
        self, rules: Sequence[KernelRule], ends: Sequence[KernelRule], record: Record, head: bytes
    ) -> list[Run | End]:
        """Count one line, and return what a line with the same text counts for."""
        self.settle()
        self._head = head
        taken: list[Run | End] = []
        for rule in rules:
            if (key := self.add(rule, record)) is not None:
                adds = self._adds(rule, record) if rule.window_s else 0
                taken.append(Run(self, key, record.text, adds))
        for rule in ends:
            if rule.compiled_over.search(record.text):
                self.end(rule, record)
                taken.append(End(self, rule, record.text))
        return taken

    def settle(self) -> None:
        """Write down what equal texts added since."""
        for run in self.pending:
            self._head = run.head
            hit = self._hits[run.key]
            last: Moment = hit.last
            if run.number >= last.sequence:
                last = self._moment(_record(run.number, run.text))
            self._hits[run.key] = msgspec.structs.replace(
                hit, count=hit.count + run.count, last=last, over=False
            )
            run.count = 0
        self.pending.clear()

    def more(self, key: Key, head: bytes, adds: int, times: int) -> None:
        """Count more lines of a text in the window of what it counts for."""
        window, at = self._windows.get(key), _clock(head)
        if window is not None and at is not None:
            window.add(at, adds, times)

    def _seconds(self, record: Record) -> float | None:
        del record
        return _clock(self._head)

    @staticmethod
    def _adds(rule: KernelRule, record: Record) -> int:
        match = rule.match(record.text)
        return amount(rule, rule.values(match)) if match else 1

    def _moment(self, record: Record) -> Dated:
        return Dated(
            sequence=record.sequence, age_s=0.0, text=record.text[:QUOTED], head=self._head
        )


class KernelText:
    """The lines of the kernel in one file: feed them in their order, then take what was seen."""

    def __init__(self) -> None:
        self._fold = TextFold()
        self._cards: list[Record] = []

    def take(
        self,
        rules: Sequence[KernelRule],
        ends: Sequence[KernelRule],
        number: int,
        text: str,
        head: bytes,
    ) -> list[Run | End]:
        """Search one line; *head* is its beginning with its time."""
        return self._fold.take(rules, ends, _record(number, text), head)

    def card(self, number: int, text: str) -> None:
        """Take a line that says who a GPU is."""
        if len(self._cards) < MOST_CARDS:
            self._cards.append(_record(number, text))

    def seen(self, file: str, lines: int, end: When) -> KernelSymptoms:
        """Return what was found in a file of so many lines, whose last has the time *end*."""
        self._fold.settle()
        hits = (
            msgspec.structs.replace(hit, first=_aged(hit.first, end), last=_aged(hit.last, end))
            for hit in self._fold.hits()
        )
        known = cards(msgspec.structs.replace(EMPTY, records=tuple(self._cards)))
        return KernelSymptoms(
            records=lines, file=file, source="syslog", hits=tuple(hits), cards=known
        )


def whole(text: str, before: Sequence[str]) -> str:
    """Return a sentence of the driver that stands in several lines; *before* are those above."""
    if not text.startswith("NVRM: fallen off"):
        return text
    texts = [*before[1 - PIECES :], text]
    first = next((n for n, one in enumerate(texts) if OPENING.fullmatch(one)), None)
    if first is None:
        return text
    records = [_record(0, one) for one in texts[first:]]
    return next(iter(joined(records))).text


def _clock(head: bytes) -> float | None:
    """Return the seconds that a line's stamp counts; a log has the same kind all along."""
    told = when(head)
    # A file can hold several boots.
    return told.booted if told.dated is None else told.dated


def _aged(moment: Moment, end: When) -> Moment:
    told = when(moment.head) if isinstance(moment, Dated) else When()
    return Moment(
        sequence=moment.sequence,
        age_s=round(end.after_s(told) or 0.0, 3),
        text=moment.text,
        time=told.time,
        time_error_s=told.error_s,
    )


def _record(number: int, text: str) -> Record:
    return Record(sequence=number, boot_s=0.0, level=0, facility=0, text=text)
