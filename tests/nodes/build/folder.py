"""A recording while it is put together, and how it is written."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.node.layout import SCHEMA, key

Json = dict[str, Any]


@dataclass
class State:
    """What was seen from one second on."""

    files: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    commands: list[Json] = field(default_factory=list)
    answers: list[Json] = field(default_factory=list)
    kmsg: list[str] = field(default_factory=list)


@dataclass
class Folder:
    """One recording; `later` states are laid over the first, `scenario` is its nvml.toml."""

    node: str
    taken: str
    boot_id: str
    kernel: str
    first: State = field(default_factory=State)
    later: dict[int, State] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    scenario: str = ""
    paths: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)

    def at(self, second: int) -> State:
        """Return the state from that second on."""
        return self.first if not second else self.later.setdefault(second, State())

    def file(self, path: str, text: str = "", *, at: int = 0) -> None:
        """Note a file's text, its last line ended."""
        self.at(at).files[path] = text + "\n" * bool(text and not text.endswith("\n"))

    def answer(
        self,
        kind: str,
        answer: object,
        args: Json | None = None,
        *,
        at: int = 0,
        seconds: float = 0.01,
    ) -> None:
        """Note what a helper answered."""
        self._add(at, {"kind": kind, "args": args or {}, "answer": answer, "seconds": seconds})

    def silence(
        self, kind: str, why: Json, args: Json | None = None, *, seconds: float = 0.01
    ) -> None:
        """Note why a helper gave no answer; it stands in place of any that was noted before."""
        args = args or {}
        self.first.answers = [
            a for a in self.first.answers if (a["kind"], a["args"]) != (kind, args)
        ]
        for state in self.later.values():
            state.answers = [a for a in state.answers if a["kind"] != kind]
        self._add(0, {"kind": kind, "args": args, "seconds": seconds, "missing": why})

    def _add(self, at: int, answer: Json) -> None:
        self.at(at).answers.append(answer)
        if answer["kind"] not in (*self.kinds, "files", "log"):
            self.kinds.append(answer["kind"])

    def command(
        self,
        *argv: str,
        stdout: str = "",
        stderr: str = "",
        status: int = 0,
        seconds: float = 0.01,
        at: int = 0,
    ) -> None:
        """Note what a tool printed; its first word is the tool's name."""
        entry = {"argv": list(argv), "status": status, "stdout": stdout, "stderr": stderr}
        state = self.at(at)
        state.commands = [c for c in state.commands if c["argv"] != list(argv)]
        state.commands.append({**entry, "seconds": seconds})
        if argv[0] not in self.tools:
            self.tools.append(argv[0])

    def write(self, folder: Path) -> None:
        """Write the folder anew; an expected.json that is there stays."""
        for old in folder.glob("*"):
            if old.is_dir():
                shutil.rmtree(old)
            elif old.name != "expected.json":
                old.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "meta.toml").write_text(self._meta())
        if self.scenario:
            (folder / "nvml.toml").write_text(self.scenario)
        _state(folder, self.first)
        for second, state in self.later.items():
            _state(folder / "at" / str(second), state)
        for name, text in self.logs.items():
            _put(folder / "logs" / name, text)

    def _meta(self) -> str:
        table = {"schema": SCHEMA, "node": self.node, "boot_id": self.boot_id}
        table |= {"kernel": self.kernel, "taken": self.taken}
        held = {"paths": self.paths, "names": self.names, "tools": self.tools, "kinds": self.kinds}
        lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
        simulated = json.dumps(bool(self.scenario))
        lines += [f"simulated = {simulated}", "scrubbed = true", "", "[holds]"]
        return "\n".join([*lines, *(_listed(name, sorted(v)) for name, v in held.items())]) + "\n"


def _listed(name: str, values: Sequence[str]) -> str:
    inner = "".join(f"    {json.dumps(value)},\n" for value in values)
    return f"{name} = [\n{inner}]" if values else f"{name} = []"


def _state(folder: Path, state: State) -> None:
    for path, text in state.files.items():
        _put(folder / "files" / path.lstrip("/"), text)
    if state.errors:
        lines = [
            f"{json.dumps(path)} = {json.dumps(e)}" for path, e in sorted(state.errors.items())
        ]
        _put(folder / "errors.toml", "\n".join(lines) + "\n")
    for command in state.commands:
        _json(folder / "commands", key(tuple(command["argv"])), command)
    for answer in state.answers:
        _json(folder / "answers" / answer["kind"], key(answer["args"]), answer)
    if state.kmsg:
        _put(folder / "kmsg.log", "\n".join(state.kmsg) + "\n")


def _json(folder: Path, name: str, value: Mapping[str, Any]) -> None:
    path = folder / f"{name}.json"
    if path.exists():
        raise ValueError(f"{path} is written twice")
    _put(path, json.dumps(value, indent=1) + "\n")


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
