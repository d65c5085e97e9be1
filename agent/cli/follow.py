"""`gpudiag logs --follow`: read files as they grow, and say each time what has changed."""

import os
import select
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from pathlib import Path

from agent.cli.errors import Mistake
from agent.cli.log_files import document_of, name_of, why_unread
from agent.knowledge import knowledge, site
from collectors.logs.pieces import BLOCK, pieces
from collectors.logs.unpack import PACKED
from diagnostics.document import Document
from diagnostics.rules.reading import Reading
from diagnostics.rules.seen import TrainingLogs

# How often a file is looked at that has said nothing new, and how often what was said is judged.
POLL_S = 0.25
JUDGE_S = 1.0
# Judging takes no more than one part of so many of the time.
SHARE = 10


class Followed:
    """One file that grows: `blocks` yields what is there, and nothing where that is all for now.

    A file that was put in its place is read from its beginning once the old one is read to its
    end, and so is one that became shorter. `over` is True where no more can come: of a pipe.
    """

    def __init__(self, file: str) -> None:
        self.name = name_of(file)
        self.over = False
        self._path = file
        self._handle = self._opened()
        self._grows = stat.S_ISREG(os.fstat(self._handle.fileno()).st_mode)
        self._at = 0

    def _opened(self) -> FileIO:
        # A FIFO without a writer must not hold the others up.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        return FileIO(
            0 if self._path == "-" else os.open(self._path, flags), closefd=self._path != "-"
        )

    def blocks(self) -> Iterator[bytes]:
        """Yield what is new in blocks, and an empty one each time that there is no more yet."""
        while not self.over:
            block = self._block()
            if block and not self._at and block.startswith(PACKED):
                hint = f"read it whole: gpudiag logs {self.name}"
                raise Mistake(f"cannot follow {self.name}: it is packed", hint)
            self._at += len(block)
            yield block

    def _block(self) -> bytes:
        if not self._grows:
            return self._piped()
        block = self._handle.read(BLOCK) or b""
        return block or self._begun_anew()

    def _piped(self) -> bytes:
        ready, _, _ = select.select([self._handle], [], [], 0)
        block = self._handle.read(BLOCK) if ready else None
        self.over = block == b""
        return block or b""

    def _begun_anew(self) -> bytes:
        """Return the beginning of the file that stands there now, if it is another or a new one."""
        mine = os.fstat(self._handle.fileno())
        try:
            there = Path(self._path).stat()
        except OSError:
            # Moved away, and the next one not made yet.
            return b""
        if (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino):
            # What was written between the last look and the rename comes first.
            if rest := self._handle.read(BLOCK):
                return rest
            self._handle.close()
            self._handle = self._opened()
        elif mine.st_size < self._at:
            self._handle.seek(0)
        else:
            return b""
        self._at = 0
        return self._handle.read(BLOCK) or b""


def follow(files: Sequence[str], show: Callable[[Document], None]) -> Document:
    """Hand *show* the document of what was read so far each time that it changed.

    Returns the last one, on Ctrl-C or where nothing more can come. Raises Mistake where a file
    cannot be read.
    """
    watched = [_watched(file) for file in dict.fromkeys(files)]
    readings = [reading for _, reading, _ in watched]
    said = Said(show)
    try:
        while not all(followed.over for followed, _, _ in watched):
            news = [_read(*one) for one in watched]
            said.judge(readings, at_once=not any(news))
            if not any(news):
                time.sleep(POLL_S)  # noqa: TID251 - a command of its own: no loop runs here
    except KeyboardInterrupt:
        # It is how a person ends it.
        pass
    said.judge(readings, at_once=True)
    return said.document


Watched = tuple[Followed, Reading, Iterator[bytes]]


def _watched(file: str) -> Watched:
    try:
        followed = Followed(file)
    except OSError as problem:
        raise why_unread(name_of(file), problem) from None
    return followed, Reading(knowledge(site()), followed.name), pieces(followed.blocks())


def _read(followed: Followed, reading: Reading, new: Iterator[bytes]) -> bool:
    """Read what is there now, for a second at most; return whether there was anything."""
    until = time.monotonic() + JUDGE_S
    news = False
    for piece in new:
        reading.feed(piece)
        news = news or bool(piece)
        if not (piece or followed.over) or time.monotonic() > until:
            break
    return news


class Said:
    """What was said last, so that only what differs is said again."""

    def __init__(self, show: Callable[[Document], None]) -> None:
        self.document = document_of(TrainingLogs())
        self._show = show
        self._told: object = None
        self._lines: list[int] = []
        self._next = 0.0

    def judge(self, readings: Sequence[Reading], *, at_once: bool) -> None:
        """Judge what was read, now and then where it does not rest."""
        lines = [reading.lines for reading in readings]
        start = time.monotonic()
        if lines == self._lines or (start < self._next and not at_once):
            return
        self._lines = lines
        logs = tuple(reading.now() for reading in readings)
        self.document = document_of(TrainingLogs(logs=logs))
        end = time.monotonic()
        self._next = end + max(JUDGE_S, SHARE * (end - start))
        told = _told(self.document)
        if told != self._told:
            self._told = told
            self._show(self.document)


def _told(document: Document) -> tuple[object, ...]:
    """Return what is news when it changes: not how often a line came, nor the last value."""
    findings = [(f["fault"], f["severity"], repr(f["subject"])) for f in document.findings]
    return (document.verdict, *sorted(findings))
