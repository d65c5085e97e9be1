"""What a walk asked and was told, by the time of the walk."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from collectors.facts.answers import Files
from collectors.node.layout import KMSG_LINE, Answer, Command, Holds, question
from collectors.node.recording.history import GONE, History, Seen, Timeline, empty, fits, is_glob
from collectors.node.recording.loader import MOST_LEVELS

if TYPE_CHECKING:
    from collectors.node.protocol import LogText

LONGEST_NAME = 255

T = TypeVar("T")


class Asked:
    """The patterns that were asked at one time."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._globs: dict[tuple[int, str], list[list[str]]] = {}

    def add(self, patterns: Sequence[str]) -> None:
        """Note that these were asked."""
        for pattern in patterns:
            segments = pattern.split("/")
            if is_glob(pattern):
                self._globs.setdefault((len(segments), segments[1]), []).append(segments)
            else:
                self._paths.add(pattern)

    def has(self, path: str) -> bool:
        """Return whether one of them stands for *path*."""
        if path in self._paths:
            return True
        segments = path.split("/")
        return any(
            all(map(fits, glob, segments))
            for glob in self._globs.get((len(segments), segments[1]), ())
        )


class Journal:
    """Remembers answers, and gives the first one again to who asks the same at the same time.

    In a replay nothing happens between two questions of one time, so nothing may seem to have
    happened while it was recorded: else a finding of the walk would not be found again.
    """

    def __init__(self) -> None:
        self.history: History = empty()
        self.asked: dict[float, Asked] = {}
        self.logs: dict[str, LogText] = {}
        self._paths: set[str] = set()
        self._names: set[str] = set()
        self._tools: set[str] = set()
        self._kinds: set[str] = set()

    def files(
        self, at: float, patterns: Sequence[str], names: Sequence[str], cap: int, got: Files
    ) -> Files:
        """Note what was read, and return what holds at this time."""
        before = self.asked.setdefault(at, Asked())
        for path, seen in _seen(got, patterns, cap):
            self._note(at, path, seen, absent=before.has(path))
        before.add((*patterns, *names))
        self._paths.update(patterns)
        self._names.update(names)
        paths = self.history.paths
        return paths.answer(patterns, names, cap, lambda entry: entry.seen.exactly(at))

    def _note(self, at: float, path: str, seen: Seen, *, absent: bool) -> None:
        line = self.history.paths.entry(path).seen
        known = line.exactly(at)
        fuller = known is not None and (
            (known.named and not seen.named) or (known.cut and len(seen.text) > len(known.text))
        )
        if fuller or (known is None and not absent):
            line.put(at, seen)
        elif known is None:
            line.put(at, Seen(error=GONE))

    def command(self, at: float, held: Command) -> Command:
        """Note what a tool printed."""
        self._tools.add(held.argv[0])
        line = self.history.commands.setdefault(held.argv, Timeline())
        return _first(line, at, held)

    def tool(self, tool: str) -> None:
        """Note that *tool* is not installed."""
        self._tools.add(tool)

    def answer(self, at: float, held: Answer) -> Answer:
        """Note what a helper said."""
        self._kinds.add(held.kind)
        line = self.history.answers.setdefault(question(held.kind, held.args), Timeline())
        return _first(line, at, held)

    def kernel(self, at: float, lines: Sequence[str]) -> tuple[str, ...]:
        """Note what is new in the kernel log, and return all of it."""
        self._kinds.add("kernel_log")
        line = self.history.kernel
        if (known := line.exactly(at)) is None:
            earlier = line.at(at) or ()
            line.put(at, earlier + _since(earlier, tuple(filter(KMSG_LINE.fullmatch, lines))))
            known = line.exactly(at) or ()
        return known

    def holds(self) -> Holds:
        """Return what was asked, whatever came of it."""
        return Holds(
            names=tuple(sorted(self._names - self._paths)),
            kinds=tuple(sorted(self._kinds - {"files", "log"})),
            tools=tuple(sorted(self._tools)),
            paths=tuple(sorted(self._paths)),
        )

    def settle(self) -> None:
        """Note as absent what was asked for and not seen at that time, with all that lies below."""
        for path, entry in self.history.paths.all():
            for at, asked in self.asked.items():
                if entry.seen.exactly(at) is None and asked.has(path):
                    for lost in entry.everything():
                        if lost.seen.exactly(at) is None:
                            lost.seen.put(at, Seen(error=GONE))


def _seen(got: Files, patterns: Sequence[str], cap: int) -> Iterator[tuple[str, Seen]]:
    """Yield what can be kept: a path with a line end or 70 levels is left out of both."""
    read = Asked()
    read.add(patterns)
    for path, text in got.texts.items():
        if _can_be_kept(path):
            cut = len(text) >= cap or (not text.isascii() and len(text.encode()) >= cap)
            yield path, Seen(text, named=not text and not read.has(path), cut=cut)
    for path, error in got.errors.items():
        if _can_be_kept(path):
            yield path, Seen(error=error)


def _can_be_kept(path: str) -> bool:
    segments = path.split("/")
    short = all(len(s.encode()) <= LONGEST_NAME for s in segments)
    plain = path.isprintable() and not {".", ".."} & set(segments)
    return plain and short and len(segments) < MOST_LEVELS


def _first(line: Timeline[T], at: float, held: T) -> T:
    known = line.exactly(at)
    if known is None:
        line.put(at, held)
        return held
    return known


def _since(earlier: tuple[str, ...], lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines after the last record that is known; a record is known by its number."""
    numbers = [int(n) for line in earlier if (n := _number(line))]
    last = max(numbers, default=-1)
    for place, line in enumerate(lines):
        if (number := _number(line)) and int(number) > last:
            return lines[place:]
    return ()


def _number(line: str) -> str:
    return line.split(",", 2)[1] if line[:1].isdigit() else ""
