"""Write a recording: whole and under its name, or not at all."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from collectors.node.layout import SCHEMA, Answer, Command, Holds, Meta, key
from collectors.node.protocol import LogText
from collectors.node.recording.journal import Journal
from collectors.node.recording.scrub import Scrub
from collectors.node.recording.states import State, seconds, states

SYSTEM = ("/dev/", "/etc/", "/proc/", "/run/", "/sys/", "/usr/")

Keep = Callable[[str], str]


class Place:
    """The folder that a recording will be, kept as DIR.partial until it is whole."""

    def __init__(self, folder: Path, *, private: bool = False) -> None:
        self.folder = folder
        self._mode = 0o700 if private else 0o755
        self.partial = folder.with_name(folder.name + ".partial")
        self.files = 0
        self.size = 0

    def __enter__(self) -> Self:
        """Take the name; a folder that holds anything is left as it is."""
        if os.path.lexists(self.folder) and not self._is_empty_folder():
            raise FileExistsError(errno.EEXIST, "exists already", str(self.folder))
        self.partial.mkdir(mode=self._mode)
        return self

    def _is_empty_folder(self) -> bool:
        real = self.folder.is_dir() and not self.folder.is_symlink()
        return real and not any(self.folder.iterdir())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the whole recording its name, or leave nothing behind."""
        try:
            if problem is None:
                self.partial.rename(self.folder)
        finally:
            if self.partial.exists():
                shutil.rmtree(self.partial, ignore_errors=True)

    def write(self, path: str, text: str) -> None:
        """Write one file of the recording."""
        target = self.partial / path
        target.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        target.write_bytes(data)
        self.files += 1
        self.size += len(data)


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """All that is written down; without *scrub* as it was seen.

    *keep* returns what may stay of a log, line for line; without it no log is written.
    """

    journal: Journal
    meta: Meta
    scrub: Scrub | None = None
    keep: Keep | None = None

    def write(self, place: Place) -> None:
        """Write everything below *place*."""
        self.journal.settle()
        if self.scrub is not None:
            self._learn(self.scrub)
        for number, (path, log) in enumerate(sorted(self.journal.logs.items()), start=1):
            self._log(place, number, path, log)
        for at, state in sorted(states(self.journal.history).items()):
            self._state(place, f"at/{seconds(at)}/" if at else "", state)
        place.write("meta.toml", self._meta())

    def _learn(self, scrub: Scrub) -> None:
        """Show everything to the scrub, before anything is written."""
        history = self.journal.history
        scrub.learn_names([self.meta.node], [])
        for path, entry in history.paths.all():
            for seen in entry.seen.values:
                scrub.learn(path, seen.text)
        for commands in history.commands.values():
            for command in commands.values:
                scrub.learn("", "\n".join(command.argv))
                scrub.learn("", command.stdout)
                scrub.learn("", command.stderr)
        for answers in history.answers.values():
            for answer in answers.values:
                scrub.learn_value(answer.args)
                scrub.learn_value(answer.answer)
        for lines in history.kernel.values[-1:]:
            scrub.learn("", "\n".join(lines))
        for path, log in self.journal.logs.items():
            scrub.learn(path, log.text)
        scrub.close(self._words())

    def _words(self) -> Iterator[str]:
        """Yield the words of the questions, which a replay will ask in the same words."""
        holds = self.meta.holds
        for asked in (*holds.paths, *holds.names, *holds.tools, *holds.kinds):
            if asked.startswith(SYSTEM) or "/" not in asked:
                yield from re.findall(r"\w+", asked)

    def _state(self, place: Place, prefix: str, state: State) -> None:
        scrub = self.scrub
        for path, text in state.files.items():
            clean = scrub.file(path, text) if scrub else text
            place.write(f"{prefix}files{self._text(path)}", clean)
        if state.errors:
            place.write(prefix + "errors.toml", self._errors(state.errors))
        names = Unused()
        for command in state.commands:
            name = names.name(f"{prefix}commands/{command.argv[0]}")
            place.write(name, _json(self._command(command)))
        for answer in state.answers:
            clean_answer = self._answer(answer)
            name = names.name(f"{prefix}answers/{answer.kind}/{key(clean_answer.args)}", first="")
            place.write(name, _json(clean_answer))
        if state.kmsg or (not prefix and self.journal.history.kernel.times):
            lines = scrub.kmsg(state.kmsg) if scrub else list(state.kmsg)
            place.write(prefix + "kmsg.log", "".join(f"{line}\n" for line in lines))

    def _errors(self, errors: dict[str, str]) -> str:
        named = ((self._text(path), error) for path, error in errors.items())
        return "".join(f"{_quoted(path)} = {_quoted(error)}\n" for path, error in named)

    def _text(self, text: str) -> str:
        return self.scrub.text(text) if self.scrub else text

    def _command(self, held: Command) -> Command:
        clean: dict[str, Any] = msgspec.to_builtins(held)
        for name in ("stdout", "stderr"):
            clean[name] = self._text(clean[name])
        clean["argv"] = [self._text(word) for word in held.argv]
        clean["missing"] = self._value(clean["missing"])
        return msgspec.convert(clean, Command)

    def _answer(self, held: Answer) -> Answer:
        scrub = self.scrub
        if scrub is None:
            return held
        answer = held.answer
        if held.kind == "kernel_log" and isinstance(answer, dict):
            answer = {**answer, "lines": scrub.kmsg(answer.get("lines", ()))}
        elif held.kind == "environ":
            answer = scrub.environment(answer)
        else:
            answer = scrub.value(answer)
        missing = self._value(msgspec.to_builtins(held.missing))
        plain = {**msgspec.to_builtins(held), "args": scrub.value(held.args)}
        return msgspec.convert({**plain, "answer": answer, "missing": missing}, Answer)

    def _value(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        return self.scrub.value(value) if self.scrub else value

    def _log(self, place: Place, number: int, path: str, log: LogText) -> None:
        """Write a log; where lines are left out empty ones stand, so that numbers still hold."""
        if self.keep is None:
            return
        base = re.sub(r"[^A-Za-z0-9._-]", "-", path.rpartition("/")[2])[:100].lstrip(".") or "log"
        name = self._text(base)
        if os.path.lexists(place.partial / "logs" / name):
            name = f"{number}-{name}"
        place.write(f"logs/{name}", self._text(self.keep(log.text)))
        if log.first_line != 1 or log.skipped_bytes:
            part = {"first_line": log.first_line, "skipped_bytes": log.skipped_bytes}
            answer = Answer(kind="log", args={"path": name}, answer=part)
            place.write(f"answers/log/{key(answer.args)}-part.json", _json(answer))

    def _meta(self) -> str:
        meta, holds = self.meta, self.meta.holds
        table: dict[str, Any] = msgspec.to_builtins(meta)
        del table["holds"]
        for name in ("node", "boot_id", "kernel"):
            table[name] = None if table[name] is None else self._text(table[name])
        if self.scrub and table["node"] == meta.node:
            # A name that is also a common word was left alone elsewhere.
            table["node"] = self.scrub.names.host(meta.node)
        lines = [f"{name} = {_toml(value)}" for name, value in table.items() if value is not None]
        lines += ["", "[holds]"]
        for name in Holds.__struct_fields__:
            values = [self._text(value) for value in getattr(holds, name)]
            lines += [f"{name} = [", *(f"  {_quoted(value)}," for value in values), "]"]
        return "\n".join(lines) + "\n"


class Unused:
    """File names of one state, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def name(self, stem: str, first: str = "-1") -> str:
        """Return `<stem>-1.json` or the next that is free."""
        number, name = 1, f"{stem}{first}.json"
        while name in self._given:
            number += 1
            name = f"{stem}-{number}.json"
        self._given.add(name)
        return name


def meta(journal: Journal, **known: Any) -> Meta:  # noqa: ANN401 - as Meta takes them
    """Return the first page of a recording."""
    return Meta(schema=SCHEMA, holds=journal.holds(), **known)


def _json(value: Command | Answer) -> str:
    table: dict[str, Any] = msgspec.to_builtins(value)
    if table["missing"] is None:
        del table["missing"]
    else:
        table["missing"] = {k: v for k, v in table["missing"].items() if v is not None}
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def _quoted(text: str) -> str:
    """Return a TOML string: JSON's form, but that DEL must be escaped, too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: str | bool) -> str:  # noqa: FBT001 - a value, no switch
    return json.dumps(value) if isinstance(value, bool) else _quoted(value)
