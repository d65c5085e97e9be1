"""Answer from a recording: a folder of plain files that one can read and edit."""

import datetime
import fnmatch
import os
import stat as modes
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from collectors.facts.answers import Files, Output
from collectors.facts.observation import Cause, Missing
from collectors.node.layout import KMSG_LINE, SCHEMA, Answer, Command, Meta, question
from collectors.node.protocol import Identity, LogText

MOST_FILES = 100_000
MOST_BYTES = 256 << 20

T = TypeVar("T")


class RecordingError(Exception):
    """The folder is no whole recording; the message names the file and what is wrong with it."""


class State(msgspec.Struct, kw_only=True):
    """Everything known at one time of a recording."""

    texts: dict[str, str] = {}
    errors: dict[str, str] = {}
    commands: dict[tuple[str, ...], Command] = {}
    answers: dict[str, Answer] = {}
    logs: dict[str, str] = {}
    kmsg: tuple[str, ...] | None = None

    def over(self, earlier: "State") -> "State":
        """Return *earlier* with this state laid over it; an error here hides a text there."""
        texts = {p: t for p, t in earlier.texts.items() if p not in self.errors} | self.texts
        errors = {p: e for p, e in earlier.errors.items() if p not in self.texts} | self.errors
        return State(
            texts=texts,
            errors=errors,
            commands=earlier.commands | self.commands,
            answers=earlier.answers | self.answers,
            logs=earlier.logs | self.logs,
            kmsg=earlier.kmsg if self.kmsg is None else (earlier.kmsg or ()) + self.kmsg,
        )

    def answer(self, kind: str, args: Mapping[str, Any]) -> Answer | None:
        """Return what was answered; the kernel log stands in a file of its own."""
        held = self.answers.get(question(kind, args))
        if held is None and kind == "kernel_log" and self.kmsg is not None:
            return Answer(kind=kind, answer={"lines": list(self.kmsg), "lost": 0})
        return held


class Recorded:
    """A node as it was recorded; its time is the recording's and passes only by what is done."""

    def __init__(self, folder: Path) -> None:
        loader = _Loader(folder)
        self.meta = loader.meta()
        first = loader.state(folder)
        states = [(0.0, first)]
        for seconds, path in loader.later():
            states.append((seconds, loader.state(path).over(states[-1][1])))
        self._states: tuple[tuple[float, State], ...] = tuple(states)
        self._taken = datetime.datetime.fromisoformat(self.meta.taken).timestamp()
        self._passed = 0.0

    @property
    def _state(self) -> State:
        return next(state for at, state in reversed(self._states) if at <= self._passed)

    async def identity(self) -> Identity:
        """Return what meta.toml says."""
        meta = self.meta
        return Identity(
            node=meta.node,
            boot_id=meta.boot_id,
            kernel=meta.kernel,
            simulated=meta.simulated,
            recorded=True,
        )

    async def files(
        self,
        *patterns: str,
        names: Sequence[str] = (),
        cap: int = 65_536,
        deadline_s: float = 5.0,
    ) -> Files | Missing:
        """Return the recorded files that match; Missing if one of the patterns was never asked."""
        del deadline_s
        for pattern in (*patterns, *names):
            if not self.meta.holds.has_path(pattern):
                return _not_recorded(pattern)
        state = self._state
        texts = {p: t[:cap] for p, t in state.texts.items() if _any(p, patterns)}
        texts |= {p: "" for p in state.texts if p not in texts and _any(p, names)}
        errors = {p: e for p, e in state.errors.items() if e != "ENOENT" and _any(p, patterns)}
        return Files(texts=texts, errors=errors)

    async def command(self, tool: str, *args: str, deadline_s: float) -> Output | Missing:
        """Return what the tool printed when it was recorded; its seconds pass."""
        held = self._state.commands.get((tool, *args))
        if held is None:
            if tool in self.meta.holds.tools:
                detail = f"{tool} is not installed"
                return Missing(what=tool, cause=Cause.NO_TOOL, detail=detail)
            return _not_recorded(" ".join((tool, *args)))
        self._passed += min(held.seconds, deadline_s)
        if held.missing is not None:
            return msgspec.convert({"what": tool, **held.missing}, Missing)
        if held.seconds > deadline_s:
            detail = f"{' '.join(held.argv)[:120]} did not end in {deadline_s:g} s"
            return Missing(what=tool, cause=Cause.TIMEOUT, detail=detail)
        return Output(
            argv=held.argv,
            status=held.status,
            stdout=held.stdout,
            stderr=held.stderr,
            seconds=held.seconds,
        )

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the recorded answer; its seconds pass."""
        held = self._state.answer(kind, args)
        if held is None:
            return _not_recorded(question(kind, args))
        self._passed += min(held.seconds, deadline_s)
        if held.missing is not None:
            return msgspec.convert({"what": kind, **held.missing}, Missing)
        if held.seconds > deadline_s:
            return Missing(what=kind, cause=Cause.TIMEOUT, detail=f"no answer in {deadline_s:g} s")
        return held.answer

    async def log(self, path: str, *, deadline_s: float = 10.0) -> LogText | Missing:
        """Return a log of the recording's `logs/` folder."""
        del deadline_s
        text = self._state.logs.get(path)
        return _not_recorded(path) if text is None else LogText(path=path, text=text)

    async def sleep(self, seconds: float) -> None:
        """Let the recording's time pass, at once."""
        self._passed += seconds

    def now(self) -> float:
        """Return the recording's wall clock."""
        return self._taken + self._passed

    def monotonic(self) -> float:
        """Return the seconds since the recording's start."""
        return self._passed

    def branch(self) -> Self:
        """Return a view of the same recording whose time passes on its own."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def join(self, branches: Iterable[Self]) -> None:
        """Go on where the last branch ended."""
        self._passed = max([self._passed, *(branch._passed for branch in branches)])  # noqa: SLF001 - same class

    async def close(self) -> None:
        """Do nothing: there is no helper."""

    @property
    def logs(self) -> tuple[str, ...]:
        """Return the names of the logs that the recording holds."""
        return tuple(sorted(self._state.logs))


def _any(path: str, patterns: Sequence[str]) -> bool:
    return any(
        pattern.count("/") == path.count("/") and fnmatch.fnmatchcase(path, pattern)
        for pattern in patterns
    )


def _not_recorded(what: str) -> Missing:
    return Missing(what=what, cause=Cause.NOT_RECORDED, detail="the recording does not hold this")


class _Loader:
    """Reads a recording's folder, once and before the walk; refuses what is not plain."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.size = 0

    def meta(self) -> Meta:
        path = self.folder / "meta.toml"
        if not path.is_file():
            raise RecordingError(f"{self.folder} is no recording: it has no meta.toml")
        table = self.toml(path)
        schema = table.get("schema")
        if schema != SCHEMA:
            raise RecordingError(f"{path}: schema {schema!r}; this gpudiag reads {SCHEMA!r}")
        meta = self.convert(path, table, Meta)
        try:
            datetime.datetime.fromisoformat(meta.taken)
        except ValueError as problem:
            raise RecordingError(f"{path}: taken: {problem}") from None
        return meta

    def later(self) -> list[tuple[float, Path]]:
        folder = self.folder / "at"
        found = []
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            try:
                found.append((float(path.name), path))
            except ValueError:
                raise RecordingError(f"{path}: its name is not a number of seconds") from None
        return sorted(found)

    def state(self, folder: Path) -> State:
        state = State(
            texts={}, errors=self.errors(folder / "errors.toml"), commands={}, answers={}, logs={}
        )
        for path in self.walk(folder / "files"):
            state.texts["/" + str(path.relative_to(folder / "files"))] = self.text(path)
        for path in self.walk(folder / "logs"):
            state.logs[str(path.relative_to(folder / "logs"))] = self.text(path)
        for path in self.walk(folder / "commands"):
            command = self.json(path, Command)
            state.commands[command.argv] = command
        for path in self.walk(folder / "answers"):
            answer = self.json(path, Answer)
            state.answers[question(answer.kind, answer.args)] = answer
        state.kmsg = self.kmsg(folder / "kmsg.log")
        return state

    def kmsg(self, path: Path) -> tuple[str, ...] | None:
        """Return the lines of a kernel log; dmesg's form, which has no numbers, is refused."""
        if not os.path.lexists(path):
            return None
        if not modes.S_ISREG(path.lstat().st_mode):
            raise RecordingError(f"{path} is a link or a special file; a recording has none")
        lines = tuple(self.text(path).split("\n"))
        for number, line in enumerate(lines, start=1):
            if not KMSG_LINE.fullmatch(line):
                form = "`6,1042,5123456,-;text`, as /dev/kmsg gives it"
                raise RecordingError(f"{path} line {number} is not of the form {form}")
        return tuple(filter(None, lines))

    def walk(self, folder: Path) -> list[Path]:
        """Return the plain files below *folder*; a link or a device is refused, not followed."""
        found: list[Path] = []
        for where, folders, names in os.walk(folder):
            for name in (*folders, *names):
                path = Path(where, name)
                mode = path.lstat().st_mode
                if not (modes.S_ISREG(mode) or modes.S_ISDIR(mode)):
                    raise RecordingError(
                        f"{path} is a link or a special file; a recording has none"
                    )
            found += (Path(where, name) for name in names)
        self.count += len(found)
        if self.count > MOST_FILES:
            raise RecordingError(f"{self.folder} has more than {MOST_FILES} files")
        return sorted(found)

    def text(self, path: Path) -> str:
        self.size += path.stat().st_size
        if self.size > MOST_BYTES:
            raise RecordingError(f"{self.folder} is larger than {MOST_BYTES >> 20} MiB")
        return path.read_bytes().decode("utf-8", "backslashreplace")

    def json(self, path: Path, shape: type[T]) -> T:
        text = self.text(path)
        try:
            return msgspec.json.decode(text, type=shape)
        except msgspec.ValidationError as problem:
            raise RecordingError(f"{path}: {problem}") from None
        except msgspec.DecodeError as problem:
            raise RecordingError(
                f"{path} is cut short or not JSON ({len(text)} bytes: {problem})"
            ) from None

    def toml(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text(path))
        except tomllib.TOMLDecodeError as problem:
            raise RecordingError(f"{path}: {problem}") from None

    def convert(self, path: Path, table: Mapping[str, Any], shape: type[T]) -> T:
        try:
            return msgspec.convert(table, shape)
        except msgspec.ValidationError as problem:
            raise RecordingError(f"{path}: {problem}") from None

    def errors(self, path: Path) -> dict[str, str]:
        return self.convert(path, self.toml(path), dict[str, str]) if path.is_file() else {}
