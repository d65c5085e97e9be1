r"""Python's tracebacks: which exception ended it, and where in the program's own code.

    [rank3]: Traceback (most recent call last):
    [rank3]:   File "/srv/job/train.py", line 88, in step
    [rank3]:     loss = model(batch)
    [rank3]:   File "/opt/venv/lib/site-packages/torch/nn/modules/module.py", line 1751, in _call
    [rank3]:     return forward_call(*args, **kwargs)
    [rank3]: ValueError: expected 4 experts, found 3

The innermost frame that is not a library's is where its author looks. What was read is told to the
rules as one text: `Traceback > /srv/job/train.py:88 in step > ValueError: expected 4 experts ...`.
"""

import re
from collections.abc import Iterator

import msgspec

from diagnostics.expression import Expression
from diagnostics.rules import prefix
from diagnostics.rules.line import LINE_CAP, Line, decoded

# What has to be seen for it, in the reading's one pass.
ANCHORS = (r"Traceback \(most recent call last\)",)
HEAD = "Traceback (most recent call last)"
TOLD = "Traceback > "

FRAME = Expression(
    r'(?P<front>.{0,200}?)  File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,7})'
    r", in (?P<function>.{1,100})"
)
DIGIT = Expression(r"\d")
# rich draws a box:   │ /srv/job/train.py:88 in step                    │
BOXED = Expression(
    r"(?P<front>.{0,200}?)[│|] (?P<file>/[^\s:]{1,300}):(?P<line>\d{1,7})"
    r" in (?P<function>\S{1,100})"
)
OF_A_BOX = ("│", "╰", "╭", "|", "+")
EXCEPTION = Expression(r"[A-Za-z_][\w.]{1,120}(?:: |$)")
LIBRARY = Expression(
    r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|/python\d\.\d{1,2}/(?!.*/)|^<|/bin/(?:torchrun|accelerate|deepspeed)$"
)
# An error in a destructor, of which Python itself says so; nothing ends by it.
IGNORED = b"Exception ignored in"

MOST = 2_000
MOST_LINES = 400
MOST_FRAMES = 10_000


class Frame(msgspec.Struct, frozen=True):
    """A place in a program."""

    file: str
    line: int
    function: str


class Raised(msgspec.Struct, frozen=True):
    """An exception that a traceback ends with: its own line, and what is told of it."""

    line: Line
    exception: str
    frame: Frame | None

    @property
    def told(self) -> str:
        """Return it as one text."""
        at = self.frame
        where = f"{at.file}:{at.line} in {at.function} > " if at else ""
        return f"{TOLD}{where}{self.exception}"


class _Open:
    """A traceback that is being read; *front* stands before its head."""

    def __init__(self, front: str, *, ignored: bool) -> None:
        self.writer = prefix.rank(front)
        self.front: tuple[object, ...] | None = None
        self.width = 0
        self.own: Frame | None = None
        self.last: Frame | None = None
        self.lines = 0
        self.ignored = ignored

    def take(self, number: int, text: str) -> Raised | None:
        """Take one line below the head; return the exception once it is there."""
        self.lines += 1
        if hit := FRAME.match(text) or BOXED.match(text):
            self._frame(hit, _front(hit["front"]))
            return None
        if self.front is None or _front(text[: self.width]) != self.front:
            return None
        rest = text[self.width :]
        if rest[:1] in (" ", "\t", "", *OF_A_BOX) or not EXCEPTION.match(rest):
            return None
        return Raised(Line(number, text), rest, self.own or self.last)

    def _frame(self, hit: re.Match[str], front: tuple[object, ...]) -> None:
        if self.front is None and self.writer in (None, front[0]):
            self.front, self.width = front, len(hit["front"])
        if front == self.front:
            frame = Frame(hit["file"], int(hit["line"]), hit["function"])
            self.last = frame
            self.own = self.own if LIBRARY.search(frame.file) else frame


def _front(text: str) -> tuple[object, ...]:
    """Return what the lines of one writer have in common: the times in them differ."""
    shape = DIGIT.sub("0", text)
    return prefix.rank(text), shape, *prefix.origin(text).items()


class Tracebacks:
    """The tracebacks of one log; a piece can end within one."""

    def __init__(self) -> None:
        self._open: _Open | None = None
        self._frames: dict[int, Frame] = {}
        self._noted: set[int] = set()
        self._ignored: set[int] = set()
        self._count = 0

    def head(self, piece: bytes, start: int, number: int) -> Raised | None:
        """Read on from the line at *start*, which is a traceback's first."""
        if self._count >= MOST:
            return None
        self._count += 1
        before = piece[max(piece.rfind(b"\n", 0, max(start - 1, 0)) + 1, start - 400) : start]
        end = piece.find(b"\n", start)
        head = decoded(piece[start : end if end >= 0 else len(piece)][:LINE_CAP])
        self._open = _Open(head.partition(HEAD)[0], ignored=IGNORED in before)
        return self._read(piece, end + 1, number + 1) if end >= 0 else None

    def more(self, piece: bytes, number: int) -> Raised | None:
        """Go on with one that the piece before did not end."""
        return self._read(piece, 0, number) if self._open else None

    def frame(self, number: int) -> Frame | None:
        """Return where the exception of this line was raised."""
        return self._frames.get(number)

    def note(self, number: int) -> None:
        """Note that the exception of this line counts already."""
        self._noted.add(number)

    def noted(self, number: int) -> bool:
        """Return whether the exception of this line counts already."""
        return number in self._noted

    def ignored(self, number: int) -> bool:
        """Return whether Python says of the exception of this line that it ignores it."""
        return number in self._ignored

    def _read(self, piece: bytes, start: int, number: int) -> Raised | None:
        reading = self._open
        assert reading is not None, "a head came before"
        for at, line in enumerate(_lines(piece, start), start=number):
            raised = reading.take(at, decoded(line))
            if raised is not None or reading.lines >= MOST_LINES:
                self._open = None
                if raised is None:
                    return None
                if reading.ignored:
                    self._ignored.add(raised.line.number)
                    return None
                return self._kept(raised)
        return None

    def _kept(self, raised: Raised) -> Raised | None:
        if raised.line.number in self._frames or len(self._frames) >= MOST_FRAMES:
            # Two heads that are interleaved end with one and the same line.
            return None
        if raised.frame is not None:
            self._frames[raised.line.number] = raised.frame
        return raised


def _lines(piece: bytes, start: int) -> Iterator[bytes]:
    while start < len(piece):
        end = piece.find(b"\n", start)
        end = len(piece) if end < 0 else end
        yield piece[start : min(end, start + LINE_CAP)]
        start = end + 1
