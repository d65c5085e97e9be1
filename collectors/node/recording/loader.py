"""Read a recording's folder, once and before the walk; refuse what is not plain and whole."""

import datetime as dt
import os
import re
import stat as modes
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from collectors.node.layout import KMSG_LINE, SCHEMA, Answer, Command, Meta, question
from collectors.node.recording.history import History, Seen, Timeline, empty
from collectors.node.scenario import ScenarioDriver

MOST_FILES = 100_000
MOST_BYTES = 256 << 20
MOST_LEVELS = 64

ERRNO = re.compile(r"E[A-Z0-9]{1,15}")
SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")

# at/1.5/files/   commands/   and nothing for meta.toml or kmsg.log
PART = re.compile(r"(at/[^/]*/)?([^/]*/)?")

T = TypeVar("T")


class RecordingError(Exception):
    """The folder is no whole recording; the message names the file and what is wrong with it."""


class Loader:
    """One recording's folder: its plain files by their relative path, listed once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise RecordingError(f"{folder} is no recording: no such folder")
        if not os.path.lexists(folder / "meta.toml"):
            raise RecordingError(f"{folder} is no recording: it has no meta.toml")
        self.left = MOST_BYTES
        self.files = sorted(self._plain("", 0))
        self.parts: dict[str, list[str]] = {}
        for path in self.files:
            self.parts.setdefault(PART.match(path)[0], []).append(path)  # type: ignore[index] # it matches ""

    def _plain(self, below: str, level: int) -> Iterator[str]:
        """Yield the files below a folder; a link or a device is refused, not followed."""
        try:
            entries = list(os.scandir(self.folder / below))
        except OSError as problem:
            raise self.error(below or ".", str(problem.strerror)) from None
        if len(entries) > MOST_FILES:
            raise self.error(below or ".", f"more than {MOST_FILES} files")
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if not entry.name.isprintable():
                raise self.error(ascii(path)[1:-1], "its name is not plain UTF-8 text")
            mode = entry.stat(follow_symlinks=False).st_mode
            if modes.S_ISDIR(mode) and level < MOST_LEVELS:
                yield from self._plain(path, level + 1)
            elif modes.S_ISDIR(mode):
                raise self.error(path, f"more than {MOST_LEVELS} folders deep")
            elif modes.S_ISREG(mode):
                yield path
            else:
                raise self.error(path, "is a link or a special file; a recording has none")

    def error(self, path: str, what: str) -> RecordingError:
        """Return the error that names the file."""
        return RecordingError(f"{self.folder}/{path}: {_one_line(what)}")

    def meta(self) -> Meta:
        """Return meta.toml; its schema is looked at first, before anything can look wrong."""
        table = self._toml("meta.toml")
        schema = table.get("schema")
        if schema != SCHEMA:
            raise self.error("meta.toml", f"schema {schema!r}; this gpudiag reads {SCHEMA!r}")
        meta = self._converted("meta.toml", table, Meta)
        try:
            taken = dt.datetime.fromisoformat(meta.taken)
        except ValueError as problem:
            raise self.error("meta.toml", f"taken: {problem}") from None
        if taken.tzinfo is None or not 1970 < taken.year < 9000:  # noqa: PLR2004 - epoch to far off
            raise self.error("meta.toml", f"taken: {meta.taken!r} is no time with its zone")
        if odd := [p for p in (*meta.holds.paths, *meta.holds.names) if not _proper(p)]:
            raise self.error("meta.toml", f"holds: {odd[0]!r} is no absolute path without `..`")
        return meta

    def history(self) -> History:
        """Return all states, each laid over the one before."""
        history = empty()
        if len(self.files) > MOST_FILES:
            raise RecordingError(f"{self.folder} has more than {MOST_FILES} files")
        for at, prefix in [(0.0, ""), *self._later()]:
            self._state(history, at, prefix)
        return history

    def driver(self) -> ScenarioDriver | None:
        """Return who answers for the driver where the recording holds a scenario of GPUs."""
        for path in self._one("nvml.toml"):
            try:
                return ScenarioDriver.read(self._text(path), path)
            except ValueError as problem:
                raise RecordingError(f"{self.folder}/{_one_line(str(problem))}") from None
        return None

    def _later(self) -> list[tuple[float, str]]:
        names = dict.fromkeys(path.split("/")[1] for path in self.files if path.startswith("at/"))
        found: dict[float, str] = {}
        for name in names:
            if not SECONDS.fullmatch(name):
                raise self.error(f"at/{name}", "its name is not a number of seconds")
            if float(name) in found:
                raise self.error(f"at/{name}", f"the same time as at/{found[float(name)]}")
            found[float(name)] = name
        return [(at, f"at/{name}/") for at, name in sorted(found.items())]

    def _state(self, history: History, at: float, prefix: str) -> None:
        for path, error in self._errors(prefix + "errors.toml").items():
            if error == "ENOENT":
                history.paths.remove(at, path)
            else:
                history.paths.put(at, path, Seen(error=error))
        for path, inner in self._in(prefix + "files/"):
            history.paths.put(at, "/" + inner, Seen(self._text(path)))
        for path, _ in self._in(prefix + "commands/"):
            command = self._json(path, Command)
            history.commands.setdefault(command.argv, Timeline()).put(at, command)
        for path, _ in self._in(prefix + "answers/"):
            answer = self._json(path, Answer)
            asked = question(answer.kind, answer.args)
            history.answers.setdefault(asked, Timeline()).put(at, answer)
        for path, inner in self._in(prefix + "logs/"):
            history.logs[inner] = self._text(path)
        for path in self._one(prefix + "kmsg.log"):
            earlier = history.kernel.at(at) or ()
            history.kernel.put(at, earlier + self._kmsg(path))

    def _in(self, folder: str) -> Iterator[tuple[str, str]]:
        return ((p, p[len(folder) :]) for p in self.parts.get(folder, ()))

    def _one(self, path: str) -> list[str]:
        return [
            p
            for p in self.parts.get(path.rpartition("/")[0] + "/" * ("/" in path), ())
            if p == path
        ]

    def _errors(self, path: str) -> dict[str, str]:
        if not self._one(path):
            return {}
        table = self._converted(path, self._toml(path), dict[str, str])
        for name, error in table.items():
            if not _proper(name):
                raise self.error(path, f"{name!r} is no absolute path without `..`")
            if not ERRNO.fullmatch(error):
                raise self.error(path, f"{name}: {error!r} is no errno name such as EACCES")
        return table

    def _kmsg(self, path: str) -> tuple[str, ...]:
        """Return the lines of a kernel log; dmesg's form, which has no numbers, is refused."""
        lines = self._text(path).split("\n")
        for number, line in enumerate(lines, start=1):
            if not KMSG_LINE.fullmatch(line):
                form = "`6,1042,5123456,-;text`, as /dev/kmsg gives it"
                raise self.error(path, f"line {number} is not of the form {form}")
        return tuple(filter(None, lines))

    def _text(self, path: str) -> str:
        """Return a file's text, read to one byte over what is left, whatever its size says."""
        try:
            with open(f"{self.folder}/{path}", "rb") as handle:  # noqa: PTH123 - half as dear
                data = handle.read(self.left + 1)
        except OSError as problem:
            raise self.error(path, str(problem.strerror)) from None
        self.left -= len(data)
        if self.left < 0:
            raise RecordingError(f"{self.folder} is larger than {MOST_BYTES >> 20} MiB")
        return data.decode("utf-8", "backslashreplace")

    def _json(self, path: str, shape: type[T]) -> T:
        text = self._text(path)
        try:
            return msgspec.json.decode(text, type=shape)
        except msgspec.ValidationError as problem:
            raise self.error(path, str(problem)) from None
        except (msgspec.DecodeError, RecursionError) as problem:
            what = f"cut short or not JSON ({len(text)} characters: {problem})"
            raise self.error(path, what) from None

    def _toml(self, path: str) -> dict[str, Any]:
        try:
            return tomllib.loads(self._text(path))
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
            raise self.error(path, f"cut short or not TOML ({problem})") from None

    def _converted(self, path: str, table: dict[str, Any], shape: type[T]) -> T:
        try:
            return msgspec.convert(table, shape)
        except msgspec.ValidationError as problem:
            raise self.error(path, str(problem)) from None


def _proper(path: str) -> bool:
    segments = path.split("/")
    return path.startswith("/") and not {"..", "."} & set(segments) and len(segments) < MOST_LEVELS


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
