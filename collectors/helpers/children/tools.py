"""Where the reader's tools lie: the usual folders, or what the site's settings say.

The reader's unit reads the `[tools]` table of the settings file by itself, and refuses a table that
others can write. A child of ours is given the table by its parent, which has read it the same way.
"""

import os
import stat
import tomllib
from collections.abc import Mapping
from typing import Any

from collectors.helpers.children.loop import Refused

SETTINGS = "/etc/gpudiag/gpudiag.toml"
FOLDERS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")

# What the parent gave; None in the unit, which looks into the settings itself.
given: Mapping[str, str] | None = None


def path(name: str) -> str:
    """Return a tool's absolute path; Refused where it is not there, or the table not to trust."""
    chosen = (table(SETTINGS) if given is None else given).get(name)
    paths = [f"{folder}/{name}" for folder in FOLDERS] if chosen is None else [chosen]
    for candidate in paths:
        if candidate.startswith("/") and os.access(candidate, os.X_OK):
            return candidate
    raise Refused("no_tool", f"{chosen or name} is not installed")


def table(settings: str) -> dict[str, str]:
    """Return the `[tools]` table of *settings*; an absent file has none."""
    try:
        handle = os.open(settings, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return {}
    with open(handle, "rb") as file:
        seen = os.fstat(handle)
        try:
            tools: Any = tomllib.load(file).get("tools", {})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise Refused("garbled", f"{settings}: {problem}") from None
    if not tools:
        return {}
    if seen.st_uid not in (0, os.geteuid()) or seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        detail = f"{settings}: [tools] is refused: chown root {settings}; chmod go-w {settings}"
        raise Refused("denied", detail)
    if not isinstance(tools, dict) or not all(isinstance(value, str) for value in tools.values()):
        raise Refused("garbled", f"{settings}: [tools] must be names with absolute paths")
    return tools
