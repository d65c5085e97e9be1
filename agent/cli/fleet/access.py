"""Which aggregator is asked, and as whom: options, environment, settings file."""

import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from agent.cli.errors import Mistake

PREFIX = "GPUDIAG_FLEET_"
SITE = "/etc/gpudiag/fleet.toml"
TOKEN_CAP = 4096
ROLES = "make one on its machine: gpudiag-aggregator token create --role viewer (or operator)"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What was given on the command line."""

    aggregator: str | None = None
    token_file: str | None = None
    ca: str | None = None
    config: str | None = None


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """All that a request needs; `certificate` and `key` are one's own, for mutual TLS."""

    aggregator: str
    token: str
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


def access(options: Options) -> Access:
    """Return what holds, or say in one line what is missing or wrong."""
    from agent.cli.fleet.settings import read  # noqa: PLC0415 - pydantic, and help is instant without

    config, table = _file(options)
    spoken = {key: value for key, value in _environment() if key != "token"}
    given = {k: v for k, v in msgspec.structs.asdict(options).items() if k != "config" and v}
    where = f"{config} with options and {PREFIX}*" if spoken or given else config
    settings = read(table | spoken | given, where)
    return Access(
        aggregator=settings.aggregator.rstrip("/"),
        token=_token(options, settings.token_file),
        ca=settings.ca,
        certificate=settings.certificate,
        key=settings.key,
    )


def folder() -> Path:
    """Return where this user's own settings are."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "gpudiag"


def _file(options: Options) -> tuple[str, dict[str, Any]]:
    """Return the first settings file that is there; one that was named must be."""
    for path in [options.config] if options.config else [str(folder() / "fleet.toml"), SITE]:
        try:
            return path, tomllib.loads(Path(path).read_text("utf-8"))
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise Mistake(
                f"cannot read {path}: {problem.strerror}",
                "make it readable, or give another --config",
            ) from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
            raise Mistake(f"{path}: {problem}", "correct the file and repeat the command") from None
    if options.config:
        raise Mistake(f"cannot read {options.config}: no such file", "give the file's path")
    return SITE, {}


def _environment() -> Iterator[tuple[str, str]]:
    """Yield what the environment says; a name that means nothing is a typing mistake."""
    known = {*Access.__struct_fields__, "token_file"}
    for name, value in os.environ.items():
        if not name.startswith(PREFIX):
            continue
        key = name.removeprefix(PREFIX).lower()
        if key not in known:
            names = ", ".join(f"{PREFIX}{one.upper()}" for one in sorted(known))
            raise Mistake(f"{name}: no such setting", f"there are {names}")
        if value:
            yield key, value


def _token(options: Options, path: str | None) -> str:
    text = dict(_environment()).get("token")
    if text is None or options.token_file:
        text = _private(Path(path) if path else folder() / "token")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise Mistake("the credential is not one word of letters and digits", ROLES)
    return text


def _private(path: Path) -> str:
    """Return the credential in a file that nobody else reads."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(TOKEN_CAP).decode("utf-8", "replace").strip()
    except OSError as problem:
        raise Mistake(f"no credential: {path}: {problem.strerror}", ROLES) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Mistake(f"{path}: others can read your credential", f"chmod 600 {path}")
    if not text:
        raise Mistake(f"no credential: {path} is empty", ROLES)
    return text
