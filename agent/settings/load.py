"""Read the settings file; without one, the shipped defaults hold."""

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent.cli.errors import Mistake
from collectors.facts.wanted import Expect, Peer
from diagnostics.catalog import WALK
from diagnostics.check import Limits


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The effective settings: what the file says over what is shipped."""

    peers: tuple[Peer, ...] = ()
    sample_s: float = 1.0
    expect: Expect = Expect()
    tools: Mapping[str, str] = {}
    limits: Mapping[str, Limits] = {}


def load(path: str, *, must_exist: bool = False) -> Settings:
    """Return the settings of *path*; an absent file means the defaults, unless it was named."""
    try:
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        if must_exist:
            raise Mistake(
                f"cannot read {path}: no such file", "give the settings file's path"
            ) from None
        return Settings()
    except (OSError, UnicodeDecodeError) as problem:
        raise Mistake(f"cannot read {path}: {problem}", "make it readable UTF-8 text") from None
    settings = parse(text, path)
    if settings.tools:
        _trusted(path)
    return settings


def parse(text: str, path: str) -> Settings:
    """Return the settings that *text* states; *path* is what an error names."""
    if not text.strip():
        return Settings()
    from agent.settings.model import File  # noqa: PLC0415 - pydantic costs start-up, a file may be absent

    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise Mistake(f"{path}: {problem}", "correct the line and repeat the command") from None
    file = File.read(table, path)
    return Settings(
        peers=tuple(Peer(**peer.model_dump()) for peer in file.network.peers),
        sample_s=file.walk.sample_s,
        expect=Expect(**file.expect.model_dump()),
        tools=file.tools,
        limits=_limits(file.checks, path),
    )


def _limits(tables: Mapping[str, Mapping[str, Any]], path: str) -> dict[str, Limits]:
    known = {check.name: check for check in WALK}
    limits = {}
    for name, table in tables.items():
        check = known.get(name)
        if check is None or check.limits is None:
            raise Mistake(
                f'{path}: table [checks."{name}"]: no check of this name has limits',
                "gpudiag explain checks lists the checks",
            )
        try:
            limits[name] = msgspec.convert(table, check.limits)
        except msgspec.ValidationError as problem:
            raise Mistake(
                f'{path}: table [checks."{name}"]: {problem}',
                f"gpudiag explain {name} shows its limits",
            ) from None
    return limits


def _trusted(path: str) -> None:
    """Refuse a tool table that others can write: its programs run with our rights."""
    seen = Path(path).stat()
    if seen.st_uid not in (0, os.geteuid()) or seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Mistake(
            f"{path}: [tools] is refused: others can write this file",
            f"chown root {path}; chmod go-w {path}",
        )
