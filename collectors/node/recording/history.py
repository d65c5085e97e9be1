"""What was seen and when: the form that a recording has in memory."""

import bisect
import fnmatch
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec

from collectors.facts.answers import Files
from collectors.node.layout import Answer, Command

T = TypeVar("T")

GONE = "ENOENT"
FOLDER = "EISDIR"


class Seen(msgspec.Struct, frozen=True):
    """One path at one time: its text, or the errno name that stood in for it.

    While it is being recorded: `named` is a path of which only the existence was asked, `cut` a
    text that reached the cap.
    """

    text: str = ""
    error: str | None = None
    named: bool = False
    cut: bool = False

    @property
    def gone(self) -> bool:
        """Return whether there was nothing."""
        return self.error == GONE


class Timeline(Generic[T]):
    """Values by the second from which each holds."""

    __slots__ = ("times", "values")

    def __init__(self) -> None:
        self.times: list[float] = []
        self.values: list[T] = []

    def put(self, at: float, value: T) -> None:
        """Let *value* hold from *at* on, until the next one that is known."""
        place = bisect.bisect_left(self.times, at)
        if place < len(self.times) and self.times[place] == at:
            self.values[place] = value
        else:
            self.times.insert(place, at)
            self.values.insert(place, value)

    def at(self, when: float) -> T | None:
        """Return what holds at *when*."""
        place = bisect.bisect_right(self.times, when)
        return self.values[place - 1] if place else None

    def exactly(self, when: float) -> T | None:
        """Return what was put at this very time."""
        place = bisect.bisect_left(self.times, when)
        there = place < len(self.times) and self.times[place] == when
        return self.values[place] if there else None


class Entry:
    """A file or a folder: what it was over time, and what lies below it."""

    __slots__ = ("below", "seen")

    def __init__(self) -> None:
        self.below: dict[str, Entry] = {}
        self.seen: Timeline[Seen] = Timeline()

    def at(self, when: float) -> Seen | None:
        """Return what the path was at *when*; a folder is there when anything below it is."""
        own = self.seen.at(when)
        bare = own is None or own.gone or not (own.text or own.error)
        if bare and any(child.there(when) for child in self.below.values()):
            return Seen(error=FOLDER)
        return own

    def everything(self) -> Iterator["Entry"]:
        """Yield this entry and all that lie below it."""
        yield self
        for child in self.below.values():
            yield from child.everything()

    def there(self, when: float) -> bool:
        """Return whether the path exists."""
        own = self.at(when)
        return own is not None and not own.gone


Look = Callable[[Entry], Seen | None]


class Paths:
    """Files by path and time, found by patterns as a shell would find them."""

    def __init__(self) -> None:
        self._top = Entry()

    def entry(self, path: str) -> Entry:
        """Return the entry of *path*, made where it is new."""
        entry = self._top
        for segment in path.strip("/").split("/"):
            if segment not in entry.below:
                entry.below[segment] = Entry()
            entry = entry.below[segment]
        return entry

    def put(self, at: float, path: str, seen: Seen) -> None:
        """Note what *path* was from *at* on."""
        self.entry(path).seen.put(at, seen)

    def remove(self, at: float, path: str) -> None:
        """Note that from *at* on there is neither *path* nor anything below it."""
        for entry in self.entry(path).everything():
            entry.seen.put(at, Seen(error=GONE))

    def find(self, pattern: str) -> Iterator[tuple[str, Entry]]:
        """Yield what matches; `*` stays within a segment and passes over names with a dot first."""
        yield from _find(self._top, "", pattern.strip("/").split("/"))

    def answer(self, patterns: Sequence[str], names: Sequence[str], cap: int, look: Look) -> Files:
        """Return the answer to a question; *look* says what an entry was at the time meant."""
        texts: dict[str, str] = {}
        errors: dict[str, str] = {}
        for path, entry in itertools.chain.from_iterable(map(self.find, patterns)):
            seen = look(entry)
            if seen and seen.error is None and not seen.named:
                texts[path] = seen.text[:cap]
            elif seen and seen.error and not seen.gone:
                errors[path] = seen.error
        for path, entry in itertools.chain.from_iterable(map(self.find, names)):
            seen = look(entry)
            if seen and not seen.gone:
                texts.setdefault(path, "")
        return Files(texts=texts, errors=errors)

    def all(self) -> Iterator[tuple[str, Entry]]:
        """Yield every path, a folder before what lies in it."""
        for name, entry in self._top.below.items():
            yield from _below(entry, f"/{name}")


class History(msgspec.Struct, kw_only=True):
    """Everything that a recording knows, each with the times at which it changed."""

    paths: Paths
    commands: dict[tuple[str, ...], Timeline[Command]]
    answers: dict[str, Timeline[Answer]]
    kernel: Timeline[tuple[str, ...]]
    logs: dict[str, str]


def empty() -> History:
    """Return a history in which nothing was seen yet."""
    return History(paths=Paths(), commands={}, answers={}, kernel=Timeline(), logs={})


def _below(entry: Entry, path: str) -> Iterator[tuple[str, Entry]]:
    yield path, entry
    for name, child in entry.below.items():
        yield from _below(child, f"{path}/{name}")


def fits(pattern: str, name: str) -> bool:
    """Return whether one segment of a pattern stands for *name*."""
    if not is_glob(pattern):
        return pattern == name
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return _compiled(pattern).match(name) is not None


def is_glob(pattern: str) -> bool:
    """Return whether *pattern* stands for more than itself."""
    return any(c in pattern for c in "*?[")


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


def _find(entry: Entry, path: str, segments: list[str]) -> Iterator[tuple[str, Entry]]:
    if not segments:
        yield path, entry
        return
    head, rest = segments[0], segments[1:]
    if not is_glob(head):
        if head in entry.below:
            yield from _find(entry.below[head], f"{path}/{head}", rest)
        return
    for name, child in entry.below.items():
        if fits(head, name):
            yield from _find(child, f"{path}/{name}", rest)
