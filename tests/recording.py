"""Build small recordings for tests: files, answers and commands as plain data."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from collectors.node.layout import SCHEMA
from collectors.node.recorded import Recorded


def _toml(value: object) -> str:
    return json.dumps(value)


def write(  # noqa: PLR0913 - one parameter for each part of the layout
    folder: Path,
    *,
    files: Mapping[str, str] = {},
    errors: Mapping[str, str] = {},
    commands: Sequence[Mapping[str, Any]] = (),
    answers: Sequence[Mapping[str, Any]] = (),
    logs: Mapping[str, str] = {},
    paths: Sequence[str] = ("/",),
    tools: Sequence[str] = (),
    kinds: Sequence[str] = (),
) -> Path:
    """Write one state of a recording; the first one gets a meta.toml that holds all paths."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.parent.name != "at":
        (folder / "meta.toml").write_text(
            f'schema = "{SCHEMA}"\nnode = "gpu-017"\ntaken = "2026-11-30T02:11:09Z"\n'
            f'boot_id = "5f0c2c1e-6a37-4b62-9a57-0d8d9c0f7e11"\n'
            f"[holds]\npaths = {_toml(list(paths))}\ntools = {_toml(list(tools))}\n"
            f"kinds = {_toml(list(kinds))}\n"
        )
    for path, text in files.items():
        target = folder / "files" / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    if errors:
        (folder / "errors.toml").write_text(
            "".join(f"{_toml(path)} = {_toml(error)}\n" for path, error in errors.items())
        )
    for number, command in enumerate(commands):
        _json(folder / "commands" / f"{number:04}.json", command)
    for number, answer in enumerate(answers):
        _json(folder / "answers" / str(answer["kind"]) / f"{number:04}.json", answer)
    for name, text in logs.items():
        (folder / "logs").mkdir(exist_ok=True)
        (folder / "logs" / name).write_text(text)
    return folder


def _json(path: Path, value: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def recorded(folder: Path, **parts: Any) -> Recorded:
    """Write a recording and open it."""
    return Recorded(write(folder, **parts))
